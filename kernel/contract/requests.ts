/** Requests as handlers, authenticators and watchers see them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TSchema } from "@sinclair/typebox";
import type { PorticoError } from "../errors.ts";
import type { JsonLimits } from "../text/json-scan.ts";
import type { Logger } from "./common.ts";

/**
 * The credentials that a route requires: `gateway` the owner's token or password as bearer; `client` that or a client
 * key, as bearer or in `x-api-key`; `control` the owner by bearer, `x-service-password` or HTTP basic; `public` none;
 * `own` the handler checks them itself.
 */
export type Access = "gateway" | "client" | "control" | "public" | "own";

export interface Client {
  kind: "owner" | "key" | "anonymous";
  /** The name of the client key, if one was used. */
  key?: string;
  /** The id of that key: a later key with the same name has another id. */
  keyId?: string;
  /** Arbitrary data of the authenticator that recognised the client. */
  grant?: unknown;
}

/** The limits of a request body's content. */
export type BodyLimits = JsonLimits;

/**
 * One request. Its handler returns a value (sent as JSON with 200), a `reply(…)`, or nothing (a 204, unless it used
 * `res`).
 */
export interface Call {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The request id; also sent as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
  readonly client: Client;
  /** The model that the request is about, for its log line and for request watchers. The handler may set it. */
  subject?: RequestSubject | undefined;
  /** The caller's address; `X-Forwarded-For` is only used behind `gateway.trustedProxies`. */
  readonly address: string;
  readonly log: Logger;
  /** Aborted when the client disconnects before the response has ended. */
  readonly signal: AbortSignal;
  /** Calls `gone` once when the client disconnects, or at once if it has already. For code that needs no signal. */
  onDisconnect(gone: () => void): void;
  /**
   * Calls `ending` a moment before a closing server cuts the connection, so that the handler can send a last message.
   */
  onCut(ending: () => void): void;
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
  /** The limits of the body's content, for handlers that parse JSON or another format themselves. */
  readonly limits: BodyLimits;
  /** The whole body, decompressed, within the limit (413 beyond it). May be called again. */
  body(): Promise<Buffer>;
  /** The whole body as it was sent, still compressed: a sender may have signed these bytes. Same limits as `body`. */
  wireBody(): Promise<Buffer>;
  /** The body as it arrives, decompressed, for bodies that are too large for memory. The caller limits its size. */
  chunks(): AsyncIterable<Buffer>;
  /**
   * The body as JSON. Rejects with 415, with 400 `invalid_json`, and with 400 `invalid_request_error` and `param` if it
   * violates `check`, or, without one, the schema that the route declares.
   */
  json<T = unknown>(check?: Check<T>): Promise<T>;
  /**
   * Path, query and body as one input, merged as `Check.merge` does and checked by the schemas that the route declares,
   * so that numbers, booleans, lists and defaults of the query are those of its schema.
   */
  input<T = Record<string, unknown>>(): Promise<T>;
}

/** The parameters of a query. A list has one entry for each occurrence of a name. */
export type QueryParameters =
  | URLSearchParams
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The parts of a request that may name the same member. */
export interface RequestParts {
  params?: Readonly<Record<string, string>> | undefined;
  query?: QueryParameters | undefined;
  body?: Readonly<Record<string, unknown>> | undefined;
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

/** The model, channel and attempts of a request. Read when its response has ended. */
export interface RequestSubject {
  /** The model as the client named it. */
  readonly model: string;
  /** The channel of the last attempt; empty if there was no attempt. */
  readonly channel: string;
  readonly attempts: number;
}

/** A request whose response has ended, or whose client has disconnected. */
export interface EndedRequest {
  /** The id that is sent as `x-request-id`. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The access of the route; undefined if no route matched. */
  readonly access: Access | undefined;
  readonly client: Client;
  readonly address: string;
  /** The status of the response; 499 if the client disconnected before it began. */
  readonly status: number;
  readonly ms: number;
  /** True if the client disconnected or the response was cut off. */
  readonly cut: boolean;
  /** The error of the response. */
  readonly error: PorticoError | undefined;
  readonly subject: RequestSubject | undefined;
  /** The headers that were set before the response began; for an error response, all of them. */
  headers(): Readonly<Record<string, string>>;
}

/** Receives every request to the gateway's own server when it has ended. It must be fast, and not throw. */
export interface RequestWatcher {
  name: string;
  ended(request: EndedRequest): void;
}

/** Turns a bearer token that is not the gateway's own into a client, or returns undefined for an unknown token. */
export interface Authenticator {
  name: string;
  authenticate(
    token: string,
    req: IncomingMessage,
    /** The client's address; behind a trusted proxy, that of `X-Forwarded-For`. */
    caller: { readonly address: string },
  ): Client | undefined | Promise<Client | undefined>;
}
