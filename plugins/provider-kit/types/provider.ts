/**
 * What a provider of models is. What it is made of (SSE parser, chunk writer, `upstreamError`, `readOpenAiProblem`, data
 * URLs) is exported from "portico/chat" as well.
 */
import type { ChatChunk, ChatCompletion, ChatRequest, Usage } from "./format.ts";
import type { IncomingHttpHeaders } from "node:http";
import type { Client, Logger, PorticoError, Principal } from "portico";
import type { RequestRule } from "./rules.ts";
import type { PartDecoder, StreamPart } from "./parts.ts";
import type { UpstreamProblem } from "../stream/upstream-error.ts";

/** One channel and model that a request is tried on. */
export interface Target {
  channel: string;
  /** The upstream's own name of the model. */
  model: string;
  /** Without a trailing slash. */
  baseUrl: string;
  apiKey?: string;
  /** The channel's extra headers. */
  headers: Record<string, string>;
  /** The whole channel entry of the configuration, for keys of the provider's own (`apiVersion`, `region`). */
  options: Record<string, unknown>;
  log: Logger;
  /** Aborted when the client disconnects, and when a provider of this process has taken too long. */
  signal: AbortSignal;
  /** `chatcmpl-…` and unix seconds for responses of providers that bring none. */
  id: string;
  created: number;
  /** The bytes of an http(s) or data URL, fetched under the SSRF guard; throws `invalid_request_error` (400). */
  fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
  /**
   * The upstream has refused a request with something in it that the gateway had added: send only what this one asks for.
   * See `WireRequest.additions`.
   */
  bare?: boolean | undefined;
  /** What `WireProvider.credential` gave for this attempt. */
  credential?: Credential | undefined;
  /**
   * A small request beside the chat (a token, a list), through the channel's proxy: resolves with whatever status comes,
   * rejects with `upstream_error` or `upstream_timeout` (10 s).
   */
  request(call: SmallRequest): Promise<SmallResponse>;
}

/** What a provider signs requests with where the channel has no `apiKey`: a token, or the parts of a key. All of it is secret. */
export type Credential = Readonly<Record<string, string>>;

export type SmallRequest = Pick<WireRequest, "method" | "url" | "headers" | "body">;

export interface SmallResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/**
 * A backend of chat models. It has either `complete`/`stream` (in process, or with a client of its own), or `wire`
 * (the chat plugin's own client sends, retries, streams and cancels; the provider only translates). Requests and
 * responses are in OpenAI's form on this side.
 */
export interface ChatProvider {
  name: string;
  description?: string;
  /** Where `baseUrl` is left out. Absent: `baseUrl` is required. */
  defaultBaseUrl?: string;
  /** A channel of this provider and name exists without configuration (`echo`, `agent`). */
  builtinChannel?: string;
  /**
   * Its models are made of other models through the chat service: their usage is counted there, and not here once more, and it may take
   * as long as they do where its channel sets no `timeoutMs` and `idleTimeoutMs`.
   */
  composite?: boolean;
  /** It keeps what it says, and so emits `message:sending` and `message:streaming` itself, where `CallInfo.leaves` says so. */
  sends?: boolean;
  /** In-process: the response. Without `stream`, this one is streamed in pieces. */
  complete?(request: ChatRequest, target: Target & CallInfo): Promise<ChatCompletion | string>;
  /** In-process: the response as it comes: lists of parts, or chunks in OpenAI's form; strings are text. */
  stream?(
    request: ChatRequest,
    target: Target & CallInfo,
  ): AsyncIterable<readonly StreamPart[] | ChatChunk | string>;
  wire?: WireProvider;
  /**
   * What it sends in confidence and no configuration holds, as it is now: the environment's credentials, tokens that it
   * fetched. Masked wherever a channel's `apiKey` is.
   */
  secrets?(): readonly string[];
  /** The ids that the upstream lists, for `GET /v1/models`; for in-process providers. */
  models?(target: Target): Promise<string[]> | string[];
}

/** Of the request that a provider of this process answers. */
export interface CallInfo {
  requestId: string;
  client: Client;
  /** On whose behalf: that of the client, or of the call that a hook or plugin serves. */
  principal: Principal;
  sessionKey: string;
  /** Its response leaves the gateway, so that `message:sending` and, of a stream, `message:streaming` are due. */
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
  /** The request to send. May throw `PorticoError("invalid_request_error", …, {param})` for what the target cannot express. */
  encode(request: ChatRequest, target: Target): WireRequest | Promise<WireRequest>;
  /**
   * Where the caller's own bytes may be sent as they are (but for the model's name): for upstreams of OpenAI's format when
   * nothing in the request needs changing. `encode` is called where this is absent or undefined, and for requests that
   * came from inside or were changed by a hook.
   */
  passThrough?(
    target: Target,
    request: ChatRequest,
  ): { url: string; headers: Record<string, string> } | undefined;
  /**
   * A whole 2xx response. Throws `upstreamError(…)` for an error dressed as a response. Absent: the response is in OpenAI's form;
   * errors are found and deviations repaired by the caller, and the bytes pass on as they are where nothing was wrong.
   */
  decode?(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /**
   * A fresh decoder for one stream. Without it and without `decoder`, the upstream's stream is in OpenAI's form, and the
   * caller repairs the usual deviations (missing index, id, finish reason or `[DONE]`, errors inside, empty `choices`, …).
   */
  parts?(sent: WireRequest, target: Target): PartDecoder;
  /**
   * A fresh translator for one stream into bytes of OpenAI's form, where `parts` is absent.
   * @deprecated Decode into `parts`. Providers that were written before go on to work.
   */
  decoder?(sent: WireRequest, target: Target): StreamDecoder;
  /**
   * Asked before each attempt at a channel without an `apiKey`: `target.credential` then has what it gives. It keeps and
   * renews by itself (`createRenewed`). Throws `upstreamError` of kind `auth` where it is refused one.
   */
  credential?(target: Target): Credential | undefined | Promise<Credential | undefined>;
  /** Reads a response of status >= 400 (or an error event's body): the message and code to pass on. */
  error(status: number, headers: IncomingHttpHeaders, body: Buffer): UpstreamProblem;
  /** By form: see `NativeForm`. */
  native?: Record<string, NativeForm>;
  /** The request that lists models, and how to read its response. */
  listModels?: { encode(target: Target): WireRequest; decode(body: Buffer): string[] };
  /**
   * The upstream signs reasoning, and wants its signatures (`extra_content`) again with tool calls. The gateway remembers
   * them for clients that do not send them back.
   */
  signsReasoning?(target: Target): boolean;
  /** The upstream takes `stream_options.include_usage`, and tells its usage in a stream only then. */
  streamUsage?: boolean;
  /** Further routes that the upstream has, or has the like of. */
  routes?: Partial<Record<ApiRoute, RouteForm>>;
  /** Asks the upstream how many tokens a request has, where it can tell. */
  countTokens?: TokenCounting;
  /** `POST /v1/embeddings`, where the upstream has them: OpenAI's form on this side. */
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
 * `forward`: the upstream has the route in OpenAI's form; request and response go on as they are (the headers are without
 * a content type). Else it has the like, and both are translated: the members of the request's JSON in, JSON out, or with
 * `decoder` a stream of the route's events.
 */
export type RouteForm =
  | { forward(target: Target): { url: string; headers: Record<string, string> } }
  | {
      encode(fields: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
      decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
      /** A fresh translator for one stream. Absent: a request for a stream is refused. */
      decoder?(sent: WireRequest, target: Target): StreamDecoder;
    };

/** A body that is not held in memory: opened again for each attempt. */
export interface BodySource {
  /** In bytes. */
  readonly length: number;
  /** Each chunk is good until the next one is asked for: its memory may be used again. */
  open(): AsyncIterable<Buffer>;
}

/** One HTTP request to an upstream. */
export interface WireRequest {
  method: "GET" | "POST";
  url: string;
  /** The same ones frozen for every request of a channel are written once. */
  headers: Record<string, string>;
  body?: string | Buffer | BodySource;
  /** `latin1`: each character of a body that is a string is a byte. Else it goes out as UTF-8. */
  coding?: "latin1" | undefined;
  /** A 2xx response goes on as it comes, whatever it is. */
  raw?: boolean;
  /** Parameter paths that were dropped. */
  dropped: string[];
  /**
   * Parameter paths that the gateway has added of its own accord. They must not make a request fail: where it fails before
   * its first byte, it is sent once more with `target.bare`.
   */
  additions?: readonly string[];
  /** Whatever `decode`/`decoder` wants to remember of this one request. */
  state?: unknown;
}

/**
 * Bytes of the upstream in, bytes of an OpenAI SSE stream out. The caller adds nothing: role first, one
 * finish_reason per choice, the usage chunk only when the request asked for it, `data: [DONE]` last.
 */
export interface StreamDecoder {
  /** May be handed bytes cut anywhere. Throws `upstreamError(…)` for an error event. */
  push(bytes: Buffer): Buffer | undefined;
  /** The upstream ended cleanly. Throws where it was cut short (no finish, no terminal event). */
  end(): Buffer | undefined;
  /** What the upstream said of its usage so far, whether or not the client asked for it. */
  usage?: Usage;
  /** Of the first choice, once all that have begun are finished: a connection that is cut behind it is a good end. */
  finishReason?: string;
  /** The text so far, where the decoder keeps it. */
  text?: string;
  /** An error that came behind bytes which `push` has just returned; instead of throwing, which would lose them. */
  failure?: PorticoError;
  /** The last line (`data: [DONE]`) is out: what the upstream may still send is of no interest. */
  done?: boolean;
}

/**
 * For callers who speak the upstream's own form: their request goes out, and the response comes back, as it is. What a
 * translation would lose (signatures, citations, tools of the provider's own) stays.
 */
export interface NativeForm {
  /** The rules of the Messages API, which the provider lists, do not hold for the form. */
  hasOwnRules?: boolean;
  /** The request to send, or undefined where this one must be translated. */
  encode(native: NativeRequest, target: Target): WireRequest | undefined;
  /** The 2xx response in OpenAI's form, for reports. Throws `upstreamError(…)` for an error dressed as a response. */
  decode(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
  /** As `WireProvider.parts`: each part carries its event, which goes out as it came where nothing was changed. */
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
  /** Writes another text into the response that was parsed. */
  set(text: string): void;
}

/** The request that counts tokens, and how to read its response. */
export interface TokenCounting {
  /** `native`: the same request in a form of the client's own. Undefined where the target cannot tell. */
  encode(
    request: ChatRequest,
    target: Target,
    native: NativeRequest | undefined,
  ): WireRequest | undefined | Promise<WireRequest | undefined>;
  /** Undefined where the response tells no number. */
  decode(body: Buffer): number | undefined;
}

/** A request in a provider's own form. */
export interface NativeRequest {
  /** `anthropic` for the Messages API, `responses` and `responses.compact` for the Responses API. */
  form: string;
  body: Record<string, unknown>;
  /** Headers that belong to the form (`anthropic-beta`). */
  headers: Record<string, string>;
  /** Events of the form repeat texts as a whole: where a hook puts texts in front of them, the request is translated. */
  repeatsTexts?: boolean;
}
