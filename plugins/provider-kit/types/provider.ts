/**
 * The types of a provider of models. The functions that a provider is written with (SSE parser, `PartWriter`,
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
  /** The bytes of an http(s) or data URL, fetched under the SSRF guard; throws `invalid_request_error` (400). */
  fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
  /**
   * The upstream has refused a request to which the gateway had added something: encode without additions. See
   * `WireRequest.additions`.
   */
  bare?: boolean | undefined;
  /** The value of `WireProvider.credential` for this attempt. */
  credential?: Credential | undefined;
  /**
   * Sends a small request beside the chat (for a token, a list) through the channel's proxy. Resolves with any status;
   * rejects with `upstream_error` or `upstream_timeout` (10 s).
   */
  request(call: SmallRequest): Promise<SmallResponse>;
}

/** Signs requests of channels without an `apiKey`: a token, or the parts of a key. All of it is secret. */
export type Credential = Readonly<Record<string, string>>;

export type SmallRequest = Pick<WireRequest, "method" | "url" | "headers" | "body">;

export interface SmallResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * A backend of chat models. It has either `complete` and `stream` (it answers in this process, or uses its own client), or
 * `wire` (the engine's client sends, retries, streams and cancels; the provider only translates). Requests and responses
 * are in OpenAI's form on the gateway's side.
 */
export interface ChatProvider {
  name: string;
  description?: string;
  /** Where `baseUrl` is left out. Absent: `baseUrl` is required. */
  defaultBaseUrl?: string;
  /** A channel of this provider and name exists without configuration (`echo`, `agent`). */
  builtinChannel?: string;
  /**
   * Its models ask other models through the service `models`, which counts their usage: it is not counted again here.
   * Where its channel sets no `timeoutMs` and `idleTimeoutMs`, it may take as long as those models do.
   */
  composite?: boolean;
  /** It stores its responses, and so emits `message:sending` and `message:streaming` itself where `CallInfo.leaves` is true. */
  sends?: boolean;
  /** For providers without an upstream: the response. Without `stream`, this response is streamed in pieces. */
  complete?(request: ChatRequest, target: Target & CallInfo): Promise<ChatCompletion | string>;
  /** For providers without an upstream: yields lists of parts, or chunks in OpenAI's form; strings are text. */
  stream?(
    request: ChatRequest,
    target: Target & CallInfo,
  ): AsyncIterable<readonly StreamPart[] | ChatChunk | string>;
  wire?: WireProvider;
  /**
   * Its current secrets that are not in the configuration: credentials of the environment, tokens that it has fetched.
   * They are masked wherever a channel's `apiKey` is.
   */
  secrets?(): readonly string[];
  /** The ids of its models for `GET /v1/models`, for providers without an upstream. */
  models?(target: Target): Promise<string[]> | string[];
}

/** Facts about a request, for a provider without an upstream. */
export interface CallInfo {
  requestId: string;
  client: Client;
  /** The principal of the client, or of the call that a hook or plugin serves. */
  principal: Principal;
  sessionKey: string;
  /** Its response leaves the gateway, so that `message:sending` and, for a stream, `message:streaming` must be emitted. */
  leaves?: boolean;
  /** Parameter paths that the target could not express, for `x-portico-dropped`. */
  dropped: string[];
}

/** Translates between OpenAI's form and the upstream's own. */
export interface WireProvider {
  /**
   * What the upstream demands of a whole request. The gateway applies the rules in this order before `encode`,
   * `passThrough` and the encoding of a native form, and names each change in `x-portico-changed`.
   */
  rules?: readonly RequestRule[];
  /** Encodes the request. Throws `invalid_request_error` (400) with `param` for what the target cannot express. */
  encode(request: ChatRequest, target: Target): WireRequest | Promise<WireRequest>;
  /**
   * Sends the caller's own bytes unchanged except for the model's name: for upstreams of OpenAI's format, where nothing in
   * the request needs changing. `encode` is called where this is absent or returns undefined, for requests of the gateway
   * itself, and for those that a hook has changed.
   */
  passThrough?(
    target: Target,
    request: ChatRequest,
  ): { url: string; headers: Record<string, string> } | undefined;
  /**
   * Decodes a whole 2xx response. Throws `upstreamError(…)` for an error with that status. Absent: the response is in
   * OpenAI's form; the caller detects errors and repairs deviations, and passes on unchanged bytes where there are none.
   */
  decode?(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /**
   * Creates a decoder for one stream. Without it and without `decoder`, the upstream's stream is in OpenAI's form, and the
   * caller repairs the usual deviations (a missing index, id, finish reason or `[DONE]`, errors in events, empty `choices`).
   */
  parts?(sent: WireRequest, target: Target): PartDecoder;
  /**
   * Creates a translator for one stream into bytes of OpenAI's form, where `parts` is absent.
   * @deprecated Decode into `parts`. Older providers continue to work.
   */
  decoder?(sent: WireRequest, target: Target): StreamDecoder;
  /**
   * Called before each attempt at a channel without an `apiKey`; its result becomes `target.credential`. It caches and
   * renews the credential itself (`createRenewed`). Throws `upstreamError` of kind `auth` where it is refused one.
   */
  credential?(target: Target): Credential | undefined | Promise<Credential | undefined>;
  /** Reads a response of status 400 and above, or the body of an error event: the message and code to pass on. */
  error(status: number, headers: IncomingHttpHeaders, body: Buffer): UpstreamProblem;
  /** The forms that the upstream speaks and clients send, by name: see `NativeForm`. */
  native?: Record<string, NativeForm>;
  /** The request that lists models, and how to read its response. */
  listModels?: { encode(target: Target): WireRequest; decode(body: Buffer): string[] };
  /**
   * The upstream signs reasoning, and requires its signatures (`extra_content`, `reasoning_details`) with the tool calls of
   * later requests. The gateway stores them for clients that do not send them back.
   */
  signsReasoning?(target: Target): boolean;
  /** The upstream accepts `stream_options.include_usage`, and sends the usage of a stream only with it. */
  streamUsage?: boolean;
  /** Further routes that the upstream has, in OpenAI's form or in its own. */
  routes?: Partial<Record<ApiRoute, RouteForm>>;
  /** Asks the upstream how many tokens a request has, where it has such a route. */
  countTokens?: TokenCounting;
  /** `POST /v1/embeddings`, where the upstream has embeddings. Requests and responses are in OpenAI's form. */
  embeddings?: {
    encode(request: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
    decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
  };
}

/** Routes of OpenAI's API beside chat and embeddings, by their path behind `/v1/`. */
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
 * no content type). Otherwise both are translated: the members of the request's JSON in, JSON out, or with `decoder` a
 * stream of the route's events.
 */
export type RouteForm =
  | { forward(target: Target): { url: string; headers: Record<string, string> } }
  | {
      encode(fields: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
      decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
      /** Creates a translator for one stream. Absent: a request for a stream is refused. */
      decoder?(sent: WireRequest, target: Target): StreamDecoder;
    };

/** A body that is not held in memory. Each attempt opens it again. */
export interface BodySource {
  /** In bytes. */
  readonly length: number;
  /** Each chunk is valid until the next one is requested, because its memory may be reused. */
  open(): AsyncIterable<Buffer>;
}

/** One HTTP request to an upstream. */
export interface WireRequest {
  method: "GET" | "POST";
  url: string;
  /** A frozen object that every request of a channel shares is serialised once. */
  headers: Record<string, string>;
  body?: string | Buffer | BodySource;
  /** `latin1`: each character of a string body is one byte. Otherwise the body is sent as UTF-8. */
  coding?: "latin1" | undefined;
  /** Every 2xx response is passed on unchanged. */
  raw?: boolean;
  /** Parameter paths that were dropped. */
  dropped: string[];
  /**
   * Parameter paths that the gateway has added by itself. They must not make a request fail: one that fails before its
   * first byte is sent once more with `target.bare`.
   */
  additions?: readonly string[];
  /** State of this request for `decode` and `parts`. */
  state?: unknown;
}

/**
 * Translates bytes of the upstream into bytes of an OpenAI SSE stream. The caller adds nothing: the role comes first, one
 * `finish_reason` per choice, the usage chunk only when the request asked for it, and `data: [DONE]` last.
 */
export interface StreamDecoder {
  /** Takes bytes cut anywhere. Throws `upstreamError(…)` for an error event. */
  push(bytes: Buffer): Buffer | undefined;
  /** The upstream ended cleanly. Throws where it was cut short (no finish, no terminal event). */
  end(): Buffer | undefined;
  /** The usage that the upstream has reported so far, whether or not the client asked for it. */
  usage?: Usage;
  /** That of the first choice, once every choice that has begun is finished. A connection that is cut later loses nothing. */
  finishReason?: string;
  /** The text so far, where the decoder keeps it. */
  text?: string;
  /** An error behind the bytes that `push` has just returned. Throwing it would lose them. */
  failure?: PorticoError;
  /** The last line (`data: [DONE]`) has been returned; the caller ignores further bytes. */
  done?: boolean;
}

/**
 * For clients that speak the upstream's own form: requests and responses are passed on unchanged, so that nothing is lost
 * that a translation has no words for (signatures, citations, tools that the provider runs).
 */
export interface NativeForm {
  /** The provider's rules for the Messages API do not apply to the form. */
  hasOwnRules?: boolean;
  /** Encodes the request. Undefined where it must be translated. */
  encode(native: NativeRequest, target: Target): WireRequest | undefined;
  /** Converts a 2xx response to OpenAI's form, for reports. Throws `upstreamError(…)` for an error with that status. */
  decode(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /** As `WireProvider.parts`. Each part carries its event, which is written unchanged where no feature changed its parts. */
  parts(sent: WireRequest, target: Target): PartDecoder;
  /**
   * The texts of a whole response (parsed) that a reader sees, in order: handlers of `message:sending` may change them.
   * A response of a form without this method is translated where handlers change it.
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
  /** `native`: the same request in a form of the client's own. Undefined where the target cannot count them. */
  encode(
    request: ChatRequest,
    target: Target,
    native: NativeRequest | undefined,
  ): WireRequest | undefined | Promise<WireRequest | undefined>;
  /** Undefined where the response has no number. */
  decode(body: Buffer): number | undefined;
}

/** A request in a provider's own form. */
export interface NativeRequest {
  /** `anthropic` for the Messages API, `responses` and `responses.compact` for the Responses API. */
  form: string;
  body: Record<string, unknown>;
  /** Headers that belong to the form (`anthropic-beta`). */
  headers: Record<string, string>;
  /** Events of the form repeat texts as a whole. Where a hook puts texts in front of them, the request is translated. */
  repeatsTexts?: boolean;
}
