/** Routes: how they are declared, mounted and listed. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TSchema } from "@sinclair/typebox";
import type { Dispose } from "./common.ts";
import type { Access, Call } from "./requests.ts";

export type RouteHandler = (call: Call) => unknown | Promise<unknown>;

/** Something that a route declares, or a function that loads it when somebody needs it first. */
export type Declared<T> = T | (() => Promise<T>);

/** One response of a route. */
export interface ResponseDeclaration {
  description: string;
  /** Content type → the schema of such content. Left out where the response has no content. */
  content?: Readonly<Record<string, TSchema>>;
}

/** A route's responses by status. Errors need no entry: the form of errors below its path describes them. */
export type ResponseDeclarations = Readonly<Record<number, ResponseDeclaration>>;

/** The one declaration of a route: the kernel checks requests by it, and listings and commands are made from it. */
export interface RouteOptions {
  access: Access;
  /** Default `gateway.http.maxBodyBytes`. */
  maxBodyBytes?: number;
  /** One line for listings. */
  summary?: string;
  /** An object schema of what stands in the path. Each parameter that it does not name is a text. */
  params?: Declared<TSchema>;
  /** An object schema. Texts of the query are read as the numbers and booleans that it asks for. */
  query?: Declared<TSchema>;
  /**
   * Objects in it take only the members that they name, unless they say `additionalProperties`: a misspelt member is an
   * error. `null` where the route takes no body.
   */
  body?: Declared<TSchema> | null;
  /** Without a body, `call.json()` is `{}`. */
  optionalBody?: boolean;
  /** The content types of a body that is not (only) JSON. */
  bodyTypes?: readonly string[];
  response?: Declared<ResponseDeclarations>;
  /**
   * `kernel` (the default) checks the path and the query before the handler runs, and the body in `call.json()`.
   * `handler`: the handler passes the request on, or its operations check what they get from elsewhere too.
   */
  checkedBy?: "kernel" | "handler";
  /**
   * `false`: whatever its method, it changes nothing that lasts, as a check or a trial run. All other requests with a
   * method than `GET` to routes of the owner are kept as changes (see `ChangeWatcher`).
   */
  changes?: false;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Renders an error below a path prefix in that surface's own form. */
export type ErrorForm = (error: {
  code: string;
  message: string;
  status: number;
  type?: string;
  param?: string;
  details?: Record<string, unknown>;
  /** As in `x-request-id`, for forms that repeat it. */
  requestId?: string;
}) => unknown;

export interface ErrorFormOptions {
  /** The form is only for requests with such headers, where clients of two formats use one path. */
  when?(headers: IncomingHttpHeaders): boolean;
  /** Clients have the prefix in their base address: an error says so where a path lacks it, or has it twice. */
  isBase?: boolean;
  /** Headers that every error response in this form has, beside those of all responses. */
  headers?(requestId: string): Record<string, string>;
  /** What the form renders, for listings. */
  schema?: TSchema;
}

/** Throws (or rejects) before it takes the socket over: the error is then the response. `from`: the caller's address. */
export type UpgradeHandler = (
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  from: string,
) => void | Promise<void>;

/** Something routes can be mounted on: the gateway's own server, or one made by `ctx.server()`. */
export interface Mount {
  /** `path` in polka's syntax: `/a/:b`, a trailing `*`. */
  route(method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose;
  /** WebSocket upgrades on `path`. Host and (unless `origins` names it) Origin were checked; credentials by `access`. */
  upgrade(
    path: string,
    options: { access: Access; origins?: readonly string[] },
    handler: UpgradeHandler,
  ): Dispose;
  /**
   * The form of errors below a prefix; the longest prefix wins whose form is for the request.
   */
  errors(prefix: string, form: ErrorForm, options?: ErrorFormOptions): Dispose;
}

/** The routes of one server: the gateway's own is called `gateway`. */
export interface ServerRoutes {
  server: string;
  url: string;
  routes: readonly RouteInfo[];
}

/** One route as it was mounted. `path` is in polka's syntax. */
export interface RouteInfo extends RouteOptions {
  method: string;
  path: string;
  /** What its errors look like. */
  error: TSchema;
}
