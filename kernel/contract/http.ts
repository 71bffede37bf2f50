/** Routes, requests and servers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { TSchema } from "@sinclair/typebox";
import type { ConfigDifference } from "../config/difference.ts";
import type { ChangeOrigin } from "../config/origin.ts";
import type { PorticoError } from "../errors.ts";
import type { Dispose, Logger } from "./common.ts";
import type { RequestParts } from "../schema/merge.ts";
import type { BodyLimits } from "../http/body/limits.ts";

/**
 * Who may call a route: `gateway` the owner's token or password as bearer; `client` that or a client key, as bearer or
 * in `x-api-key`; `control` the owner by bearer, `x-service-password` or HTTP basic; `public` anyone; `own` the handler
 * checks by itself.
 */
export type Access = "gateway" | "client" | "control" | "public" | "own";

export interface Client {
  kind: "owner" | "key" | "anonymous";
  /** The name of the client key, where one was used. */
  key?: string;
  /** Of that key: one that is made under the same name later has another. */
  keyId?: string;
  /** Free data of the authenticator that recognised the client. */
  grant?: unknown;
}

/** One request. A handler returns a value (sent as JSON with 200), a `reply(…)`, or nothing: a 204, unless it used `res`. */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The request id; also sent as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
  readonly client: Client;
  /** What the request is about, for its log line and for request watchers. The handler may set it. */
  subject?: RequestSubject | undefined;
  /** The caller's address; `X-Forwarded-For` only counts behind `gateway.trustedProxies`. */
  readonly address: string;
  readonly log: Logger;
  /** Aborted when the client leaves before the response has ended. */
  readonly signal: AbortSignal;
  /** The same for who needs no signal: called once, also when the client has left already. */
  onDisconnect(gone: () => void): void;
  /** Called where the server closes and waits no longer, a moment before it cuts the connection: for a last word. */
  onCut(ending: () => void): void;
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
  /** What its body may hold, for readers of other forms than JSON, and for those who parse it themselves. */
  readonly limits: BodyLimits;
  /** The whole body, decompressed, within the limit (413 beyond it). May be called again. */
  body(): Promise<Buffer>;
  /** The body as it comes, decompressed, for bodies that are too large to be held. Its reader bounds it. */
  chunks(): AsyncIterable<Buffer>;
  /**
   * The body as JSON: 415, 400 `invalid_json`, and 400 `invalid_request_error` with `param` where it breaks `check`, or,
   * without one, the schema that the route declares.
   */
  json<T = unknown>(check?: Check<T>): Promise<T>;
  /**
   * Path, query and body as one input, merged as `Check.merge` does and checked by the schemas that the route declares,
   * so that numbers, booleans, lists and defaults of the query are those of its schema.
   */
  input<T = Record<string, unknown>>(): Promise<T>;
}

/** What a request for a model is about. Read when its response has ended. */
export interface RequestSubject {
  /** As the client named it. */
  readonly model: string;
  /** Of the last attempt; empty where no channel was asked. */
  readonly channel: string;
  readonly attempts: number;
}

/** A request whose response has ended, or whose client has left. */
export interface EndedRequest {
  /** As in `x-request-id`. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** Of its route; undefined where none matched. */
  readonly access: Access | undefined;
  readonly client: Client;
  readonly address: string;
  /** 499: the client left before there was a response. */
  readonly status: number;
  readonly ms: number;
  /** The client left, or the response broke off. */
  readonly cut: boolean;
  /** What the response said was wrong. */
  readonly error: PorticoError | undefined;
  readonly subject: RequestSubject | undefined;
  /** Of the response, as far as they were set before it began; an error's are all there. */
  headers(): Readonly<Record<string, string>>;
}

/** Hears of every request to the gateway's own server once it has ended. It must be quick, and not throw. */
export interface RequestWatcher {
  name: string;
  ended(request: EndedRequest): void;
}

/**
 * A request that set out to change something by the owner's authority, whatever became of it. What it holds of bodies
 * may be secret.
 */
export interface ChangeAttempt {
  /** As in `x-request-id`. */
  readonly requestId: string;
  readonly origin: ChangeOrigin;
  readonly method: string;
  /** The pattern of its route. */
  readonly route: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;
  /** Why nothing was changed. */
  readonly error: PorticoError | undefined;
  /** The JSON body, where the handler has read one. */
  readonly body: unknown;
  /** What `GET` answers for the entry that the path names, before the change and after it. */
  readonly before: unknown;
  readonly after: unknown;
  /** What the response says. */
  readonly result: unknown;
  /** What it changed in the configuration, secrets masked. */
  readonly configuration: readonly ConfigDifference[];
}

/**
 * Hears of every attempt to change something, on each of the gateway's servers. The response to a change waits for it, a
 * refusal does not.
 */
export interface ChangeWatcher {
  name: string;
  attempted(attempt: ChangeAttempt): void | Promise<void>;
}

/** A compiled schema: see `compile` in `kernel/schema/check.ts`. */
export interface Check<T> {
  /** Returns the value with defaults filled in, or throws `PorticoError("invalid_request_error")` with `param`. */
  parse(value: unknown): T;
  /**
   * Merges the parts of a request into one input for `parse`: the path overrides the body, the body overrides the query,
   * and `null` means "not given" (but is refused for members called `ref` or `…Ref`). `at`: the body's place, for errors.
   */
  merge(parts: RequestParts, at?: string): Record<string, unknown>;
  readonly schema: TSchema;
}

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

/** What a route is, said once: the kernel checks requests by it, and listings are made of it. */
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
  /** `null` where the route takes no body. */
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
  /** Clients have the prefix in their base address: an error says so where a path lacks it, or has it twice. */
  isBase?: boolean;
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
   * The form of errors below a prefix; the longest prefix wins.
   */
  errors(prefix: string, form: ErrorForm, options?: ErrorFormOptions): Dispose;
}

export interface ServerOptions {
  name: string;
  /** The port is `gateway.port + portOffset`; any free one where `gateway.port` is 0. Always on loopback. */
  portOffset?: number;
  /** The port itself, in place of `portOffset`; then the server is shared with nobody. */
  port?: number;
  /** Origins that may call, beside none at all. */
  origins?: readonly string[];
}

export interface ServerHandle extends Mount {
  readonly port: number;
  readonly url: string;
  /** Takes its routes away and closes it, before the plugin's end. */
  close(): Promise<void>;
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

/** Turns a bearer token that is not the gateway's own into a client, or says that it does not know it. */
export interface Authenticator {
  name: string;
  authenticate(
    token: string,
    req: IncomingMessage,
    /** The client's address, that of `X-Forwarded-For` behind a trusted proxy. */
    caller: { readonly address: string },
  ): Client | undefined | Promise<Client | undefined>;
}
