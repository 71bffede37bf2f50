/**
 * The types of a provider of models. The functions for writing a provider (SSE parser, `PartWriter`,
 * `upstreamError`, `readOpenAiProblem`, data URLs) are in `portico/provider` too.
 */
import type { ChatChunk, ChatCompletion, ChatRequest, Usage } from "./format.ts";
import type { IncomingHttpHeaders } from "node:http";
import type { Client, Logger, PorticoError, Principal } from "portico";
import type { RequestRule } from "./rules.ts";
import type { PartDecoder, StreamPart } from "./parts.ts";
import type { UpstreamProblem } from "../stream/upstream-error.ts";

/** The channel and model of one attempt at a request. */
export interface Target {
  channel: string;
  /** The upstream's own name of the model. */
  model: string;
  /** Without a trailing slash. */
  baseUrl: string;
  apiKey?: string;
  /** The channel's extra headers. */
  headers: Record<string, string>;
  /** The channel's entry of the configuration, for settings of this provider (`apiVersion`, `region`). */
  options: Record<string, unknown>;
  log: Logger;
  /** Aborted when the client disconnects, and when a provider without an upstream exceeds its time. */
  signal: AbortSignal;
  /** `chatcmpl-…` and Unix seconds, for responses that have no id and time of their own. */
  id: string;
  created: number;
  /** Fetches the bytes of an http(s) or data URL under the SSRF guard. Throws `invalid_request_error` (400). */
  fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
  /**
   * True if the upstream has refused a request to which the gateway had added something, so that the provider must encode
   * without additions. See `WireRequest.additions`.
   */
  bare?: boolean | undefined;
  /** The value of `WireProvider.credential` for this attempt. */
  credential?: Credential | undefined;
  /**
   * Sends a small auxiliary request (for a token, a list) through the channel's proxy. Resolves with any status; rejects
   * with `upstream_error` or `upstream_timeout` (10 s).
   */
  request(call: SmallRequest): Promise<SmallResponse>;
}

/** The credential of a channel without an `apiKey`: a token, or the parts of a key. All of it is secret. */
export type Credential = Readonly<Record<string, string>>;

export type SmallRequest = Pick<WireRequest, "method" | "url" | "headers" | "body">;

export interface SmallResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * A source of chat models. It has either `complete` and `stream` (it responds in this process, or uses its own client), or
 * `wire` (the engine's client sends, retries, streams and cancels; the provider only translates). Requests and responses
 * are in OpenAI's form on the gateway's side.
 */
export interface ChatProvider {
  name: string;
  description?: string;
  /** The `baseUrl` of channels that set none. Absent: channels must set `baseUrl`. */
  defaultBaseUrl?: string;
  /** A channel of this provider and name exists without configuration (`echo`, `agent`). */
  builtinChannel?: string;
  /**
   * True if its models call other models through the service `models`, which counts their usage, so that it is not counted
   * again here. If its channel sets no `timeoutMs` and `idleTimeoutMs`, it may take as long as those models do.
   */
  composite?: boolean;
  /** True if it stores its responses, and emits `message:sending` and `message:streaming` itself if `CallInfo.leaves`. */
  sends?: boolean;
  /** For providers without an upstream: returns the response. The gateway streams it in fragments if `stream` is absent. */
  complete?(request: ChatRequest, target: Target & CallInfo): Promise<ChatCompletion | string>;
  /** For providers without an upstream: yields lists of parts, or chunks in OpenAI's form; strings are text. */
  stream?(
    request: ChatRequest,
    target: Target & CallInfo,
  ): AsyncIterable<readonly StreamPart[] | ChatChunk | string>;
  wire?: WireProvider;
  /**
   * Returns its current secrets that are not in the configuration: credentials of the environment, tokens that it has
   * fetched. They are masked wherever a channel's `apiKey` is.
   */
  secrets?(): readonly string[];
  /** For providers without an upstream: returns the ids of its models for `GET /v1/models`. */
  models?(target: Target): Promise<string[]> | string[];
}

/** Facts about a request, for a provider without an upstream. */
export interface CallInfo {
  requestId: string;
  client: Client;
  /** The principal of the client, or of the call that a hook or plugin serves. */
  principal: Principal;
  sessionKey: string;
  /** True if its response leaves the gateway, which requires `message:sending` and, for a stream, `message:streaming`. */
  leaves?: boolean;
  /** The paths of parameters that the target could not express, for `x-portico-dropped`. */
  dropped: string[];
}

/** Translates between OpenAI's form and the upstream's own. */
export interface WireProvider {
  /**
   * The upstream's demands on a whole request. The gateway applies the rules in this order before `encode`,
   * `passThrough` and the encoding of a native form, and names each change in `x-portico-changed`.
   */
  rules?: readonly RequestRule[];
  /** Encodes the request. Throws `invalid_request_error` (400) with `param` for a value that the target cannot express. */
  encode(request: ChatRequest, target: Target): WireRequest | Promise<WireRequest>;
  /**
   * For upstreams of OpenAI's format: returns the address to which the caller's own bytes are sent, unchanged except for
   * the model's name, if nothing in the request needs changing. `encode` is called if this is absent or returns undefined,
   * for requests of the gateway itself, and for those that a hook has changed.
   */
  passThrough?(
    target: Target,
    request: ChatRequest,
  ): { url: string; headers: Record<string, string> } | undefined;
  /**
   * Decodes a whole 2xx response. Throws `upstreamError(…)` for an error with that status. Absent: the response is in
   * OpenAI's form; the caller detects errors and repairs deviations, and passes on the bytes unchanged if there are none.
   */
  decode?(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /**
   * Creates a decoder for one stream. Without it and without `decoder`, the upstream's stream is in OpenAI's form, and the
   * caller repairs the usual deviations (a missing index, id, finish reason or `[DONE]`, errors in events, empty `choices`).
   */
  parts?(sent: WireRequest, target: Target): PartDecoder;
  /**
   * Creates a translator for one stream into bytes of OpenAI's form. Used if `parts` is absent.
   * @deprecated Decode into `parts`. Older providers continue to work.
   */
  decoder?(sent: WireRequest, target: Target): StreamDecoder;
  /**
   * Called before each attempt at a channel without an `apiKey`; its result becomes `target.credential`. It caches and
   * renews the credential itself (`createRenewed`). Throws `upstreamError` of kind `auth` if it is refused one.
   */
  credential?(target: Target): Credential | undefined | Promise<Credential | undefined>;
  /** Reads a response of status 400 and above, or the body of an error event. Returns the message and code to pass on. */
  error(status: number, headers: IncomingHttpHeaders, body: Buffer): UpstreamProblem;
  /** The forms that the upstream speaks and clients send, by name: see `NativeForm`. */
  native?: Record<string, NativeForm>;
  /** The request that lists models, and how to read its response. */
  listModels?: { encode(target: Target): WireRequest; decode(body: Buffer): string[] };
  /**
   * Returns true if the upstream signs reasoning, and requires its signatures (`extra_content`, `reasoning_details`) with
   * the tool calls of later requests. The gateway stores them for clients that do not send them back.
   */
  signsReasoning?(target: Target): boolean;
  /** True if the upstream accepts `stream_options.include_usage`, and sends the usage of a stream only with it. */
  streamUsage?: boolean;
  /** Further routes that the upstream has, in OpenAI's form or in its own. */
  routes?: Partial<Record<ApiRoute, RouteForm>>;
  /** Counts the tokens of a request at the upstream, if it has such a route. */
  countTokens?: TokenCounting;
  /** `POST /v1/embeddings`, if the upstream has embeddings. Requests and responses are in OpenAI's form. */
  embeddings?: {
    encode(request: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
    decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
  };
}

/** Routes of OpenAI's API other than chat and embeddings, by their path after `/v1/`. */
export type ApiRoute =
  | "completions"
  | "images/generations"
  | "images/edits"
  | "audio/speech"
  | "audio/transcriptions"
  | "audio/translations"
  | "moderations"
  | "rerank";

/**
 * `forward`: the upstream has the route in OpenAI's form; requests and responses are passed on unchanged (the headers have
 * no content type). Otherwise both are translated: `encode` gets the members of the request's JSON, `decode` returns JSON,
 * and `decoder` translates a stream of the route's events.
 */
export type RouteForm =
  | { forward(target: Target): { url: string; headers: Record<string, string> } }
  | {
      encode(fields: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
      decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
      /** Creates a translator for one stream. Absent: a request for a stream is refused. */
      decoder?(sent: WireRequest, target: Target): StreamDecoder;
    };

/** A body that is not kept in memory. Each attempt opens it again. */
export interface BodySource {
  /** The length in bytes. */
  readonly length: number;
  /** Each chunk is valid until the next one is requested, because its memory may be reused. */
  open(): AsyncIterable<Buffer>;
}

/** One HTTP request to an upstream. */
export interface WireRequest {
  method: "GET" | "POST";
  url: string;
  /** A frozen object that all requests of a channel share is serialised only once. */
  headers: Record<string, string>;
  body?: string | Buffer | BodySource;
  /** `latin1`: each character of a string body is one byte. Otherwise the body is sent as UTF-8. */
  coding?: "latin1" | undefined;
  /** True if every 2xx response is passed on unchanged. */
  raw?: boolean;
  /** The paths of parameters that were dropped. */
  dropped: string[];
  /**
   * The paths of parameters that the gateway has added by itself. They must not make a request fail: one that fails before
   * its first byte is sent once more with `target.bare`.
   */
  additions?: readonly string[];
  /** The state of this request for `decode` and `parts`. */
  state?: unknown;
}

/**
 * Translates bytes of the upstream into bytes of an OpenAI SSE stream. The caller adds nothing: the role comes first, one
 * `finish_reason` per choice, the usage chunk only when the request asked for it, and `data: [DONE]` last.
 */
export interface StreamDecoder {
  /** Decodes bytes, which may be cut anywhere. Throws `upstreamError(…)` for an error event. */
  push(bytes: Buffer): Buffer | undefined;
  /** Ends a stream that the upstream has ended cleanly. Throws if it was cut short (no finish, no terminal event). */
  end(): Buffer | undefined;
  /** The usage that the upstream has reported so far, whether or not the client asked for it. */
  usage?: Usage;
  /** The reason of the first choice, set once all choices have finished. A connection that is cut later loses nothing. */
  finishReason?: string;
  /** The text so far, if the decoder keeps it. */
  text?: string;
  /** An error after the bytes that `push` has just returned. Throwing it would lose them. */
  failure?: PorticoError;
  /** True once the last line (`data: [DONE]`) has been returned. The caller ignores further bytes. */
  done?: boolean;
}

/**
 * Serves clients that speak the upstream's own form: requests and responses are passed on unchanged, so that nothing is
 * lost that a translation cannot express (signatures, citations, tools that the provider runs).
 */
export interface NativeForm {
  /** True if the provider's rules for the Messages API do not apply to the form. */
  hasOwnRules?: boolean;
  /** Encodes the request. Returns undefined if it must be translated. */
  encode(native: NativeRequest, target: Target): WireRequest | undefined;
  /** Converts a 2xx response to OpenAI's form, for reports. Throws `upstreamError(…)` for an error with that status. */
  decode(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /** As `WireProvider.parts`. Each part refers to its event, which is written unchanged if no feature has changed its parts. */
  parts(sent: WireRequest, target: Target): PartDecoder;
  /**
   * Returns the texts of a whole response (parsed) that a reader sees, in order. Handlers of `message:sending` may change
   * them. Without this method, a response that handlers change is translated.
   */
  texts?(response: Record<string, unknown>): NativeText[];
}

/** One text in a whole response of a native form. */
export interface NativeText {
  /** The member of an OpenAI message that has this text. */
  name: "content" | "refusal";
  text: string;
  /** Replaces the text in the parsed response. */
  set(text: string): void;
}

/** The request that counts tokens, and how to read its response. */
export interface TokenCounting {
  /** `native` is the same request in the client's own form. Returns undefined if the target cannot count its tokens. */
  encode(
    request: ChatRequest,
    target: Target,
    native: NativeRequest | undefined,
  ): WireRequest | undefined | Promise<WireRequest | undefined>;
  /** Returns undefined if the response has no number. */
  decode(body: Buffer): number | undefined;
}

/** A request in a provider's own form. */
export interface NativeRequest {
  /** `anthropic` for the Messages API, `responses` and `responses.compact` for the Responses API. */
  form: string;
  body: Record<string, unknown>;
  /** Headers that belong to the form (`anthropic-beta`). */
  headers: Record<string, string>;
  /** True if events of the form repeat whole texts. If a hook inserts text before them, the request is translated. */
  repeatsTexts?: boolean;
}
