/** Requests as handlers, authenticators and watchers see them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TSchema } from "@sinclair/typebox";
import type { PorticoError } from "../errors.ts";
import type { JsonLimits } from "../text/json-scan.ts";
import type { Logger } from "./common.ts";

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

/** What a request body may hold. */
export type BodyLimits = JsonLimits;

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
  /** The whole body as it was sent, still compressed: a sender may have signed these bytes. Same limits as `body`. */
  wireBody(): Promise<Buffer>;
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

/** Lists hold one entry for each time that a name occurs. */
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
  /** The error of the response. */
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
