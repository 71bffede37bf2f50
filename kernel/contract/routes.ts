/** The declaration, mounting and listing of routes. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TSchema } from "@sinclair/typebox";
import type { Dispose } from "./common.ts";
import type { Access, Call } from "./requests.ts";

export type RouteHandler = (call: Call) => unknown | Promise<unknown>;

/** A part of a route's declaration, or a function that loads it at its first use. */
export type Declared<T> = T | (() => Promise<T>);

/** One response of a route. */
export interface ResponseDeclaration {
  description: string;
  /** Content type → the schema of such content. Absent if the response has no content. */
  content?: Readonly<Record<string, TSchema>>;
}

/** A route's responses by status. Errors need no entry, because the error form for its path describes them. */
export type ResponseDeclarations = Readonly<Record<number, ResponseDeclaration>>;

/** The declaration of a route. The kernel checks requests by it, and listings and commands are generated from it. */
export interface RouteOptions {
  access: Access;
  /** Default `gateway.http.maxBodyBytes`. */
  maxBodyBytes?: number;
  /** A summary of one line for listings. */
  summary?: string;
  /** An object schema of the path's parameters. A parameter that it does not name is a string. */
  params?: Declared<TSchema>;
  /** An object schema of the query. Its texts are converted to the numbers and booleans that the schema requires. */
  query?: Declared<TSchema>;
  /**
   * The schema of the body. Its objects accept only the members that they name, unless they have
   * `additionalProperties`: a misspelt member is an error. `null` if the route takes no body.
   */
  body?: Declared<TSchema> | null;
  /** Makes `call.json()` return `{}` for a request without a body. */
  optionalBody?: boolean;
  /** The content types of a body that is not (only) JSON. */
  bodyTypes?: readonly string[];
  response?: Declared<ResponseDeclarations>;
  /**
   * `kernel` (the default) checks the path and the query before the handler runs, and the body in `call.json()`. With
   * `handler`, the handler forwards the request, or its operations also check input from elsewhere.
   */
  checkedBy?: "kernel" | "handler";
  /**
   * `false` if the route changes nothing permanently whatever its method, like a check or a trial run. All other
   * requests to routes of the owner with a method other than `GET` are recorded as changes (see `ChangeWatcher`).
   */
  changes?: false;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Converts an error below a path prefix to the format of that API. */
export type ErrorForm = (error: {
  code: string;
  message: string;
  status: number;
  type?: string;
  param?: string;
  details?: Record<string, unknown>;
  /** The id that is sent as `x-request-id`, for formats that repeat it. */
  requestId?: string;
}) => unknown;

export interface ErrorFormOptions {
  /** Restricts the form to requests with certain headers, if clients of two formats use the same path. */
  when?(headers: IncomingHttpHeaders): boolean;
  /**
   * True if the prefix belongs to the base URL of clients: an error then says that a path lacks it, or has it twice.
   */
  isBase?: boolean;
  /** Returns the headers that every error response in this form has, in addition to those of all responses. */
  headers?(requestId: string): Record<string, string>;
  /** The schema of the form's output, for listings. */
  schema?: TSchema;
}

/**
 * Handles an upgrade. It may throw (or reject) before it takes over the socket, and the error is then the response.
 * `from` is the caller's address.
 */
export type UpgradeHandler = (
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  from: string,
) => void | Promise<void>;

/** A server that routes can be mounted on: the gateway's own, or one that `ctx.server()` opened. */
export interface Mount {
  /** Mounts a route. `path` is in polka's syntax: `/a/:b`, a trailing `*`. */
  route(method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose;
  /**
   * Mounts WebSocket upgrades on `path`. Host, Origin (unless `origins` names it) and the credentials for `access` are
   * checked before.
   */
  upgrade(
    path: string,
    options: { access: Access; origins?: readonly string[] },
    handler: UpgradeHandler,
  ): Dispose;
  /**
   * Sets the form of errors below a prefix. Of several forms for a request, the one with the longest prefix applies.
   */
  errors(prefix: string, form: ErrorForm, options?: ErrorFormOptions): Dispose;
}

/** The routes of one server. The gateway's own server is called `gateway`. */
export interface ServerRoutes {
  server: string;
  url: string;
  routes: readonly RouteInfo[];
}

/** One mounted route. `path` is in polka's syntax. */
export interface RouteInfo extends RouteOptions {
  method: string;
  path: string;
  /** The schema of the route's errors. */
  error: TSchema;
}
