/** The services that serve requests for models from inside the gateway. */
import type {
  ApiRoute,
  BodySource,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  NativeRequest,
  StreamEncoder,
  StreamPart,
} from "portico/provider";
import type { Call, Client, PorticoError, Principal } from "portico";
import type { RawBody } from "../../openai/members.ts";

/**
 * Requests models from inside the gateway, for the agent, hooks and other plugins. Routing and fallbacks are those of
 * HTTP callers.
 */
export interface ModelsService {
  /** Returns a copy of a value in which all secrets that the gateway or a provider knows are masked. */
  mask<T>(value: T): T;
  complete(request: ChatRequest, options?: ChatOptions): Promise<ChatCompletion>;
  /** Streams the response: each list has the parts of one read from the upstream. */
  parts(request: ChatRequest, options?: ChatOptions): AsyncIterable<readonly StreamPart[]>;
  /** Streams the response as chunks in OpenAI's format. */
  stream(request: ChatRequest, options?: ChatOptions): AsyncIterable<ChatChunk>;
  /**
   * For routes that accept chat in another format: does what `POST /v1/chat/completions` does between reading the
   * request and writing the response. Validates the request, emits all events (a hook's reply becomes the response),
   * routes, sets the `x-portico-*` headers on `call.res`, and cancels when the client disconnects. Throws before
   * anything was written.
   */
  open(call: Call, request: ChatRequest, options: OpenOptions): Promise<OpenedChat>;
  /**
   * Does the same for `POST /v1/chat/completions`, whose format is the engine's own. `body` is the parsed value of
   * `raw`. If nothing has to parse the request or the response, their bytes are passed on unchanged.
   */
  openCompletion(call: Call, body: unknown, raw: RawBody): Promise<OpenedCompletion>;
  /**
   * Returns the model for a request that names none: the first model of the channel of the highest priority, or with
   * `channel` the first of that one; `undefined` if no channel is configured. Throws if there are channels, but none of
   * them lists a model.
   */
  defaultModel(channel?: string): Promise<string | undefined>;
  /**
   * Serves OpenAI's routes that are not chat, with the same keys, limits, routing, fallbacks, usage and events. Writes
   * the response by itself, or throws before anything was written: 400 `unsupported_endpoint` if no channel of the
   * model has the route.
   */
  forward(call: Call, request: ForwardRequest): Promise<void>;
  /**
   * Returns the number of tokens of a request as its model's upstream counts them; undefined if the upstream cannot
   * count. Throws `model_not_found` (404), and the errors of the gates.
   */
  countTokens(
    call: Call,
    request: ChatRequest,
    native: NativeRequest | undefined,
  ): Promise<number | undefined>;
  /**
   * For requests that follow later (of a turn, a job, a poll): throws `model_not_found` (404, `param: "model"`) if no
   * alias and no channel can serve the model, and `invalid_request_error` (400, `param: "channel"`) for a channel that
   * does not exist. A channel that does not list its models may have any. With `client`, the message suggests a model
   * that it may use.
   */
  checkModel(
    target: { model?: string | undefined; channel?: string | undefined },
    options?: { client?: Client | undefined },
  ): Promise<void>;
  /** Returns everything that `GET /v1/models` lists. */
  models(): Promise<{ id: string; object: "model"; created: number; owned_by: string }[]>;
}

/** @deprecated The name of `ModelsService` that plugins of users know. */
export type ChatService = ModelsService;

/** A request to one of OpenAI's routes other than chat. */
export interface ForwardRequest {
  route: ApiRoute;
  model: string;
  /** Models to fall back to after `model`. */
  fallbacks?: readonly string[];
  /** The client requests an event stream. */
  stream: boolean;
  /** The text that `message:received` shows, and may change or refuse; absent if the request has none. */
  text?: string | undefined;
  contentType: string;
  /** Returns the body for one target's model. `text` is the text as hooks changed it; undefined if they did not. */
  body(model: string, text: string | undefined): string | Buffer | BodySource;
  /** Returns the members of a JSON body, for providers that translate; absent for other bodies. */
  fields?(text: string | undefined): Record<string, unknown>;
  /** Returns the response with a hook's text in place of a model's. If it is absent, such a reply is refused. */
  reply?(text: string): { contentType: string; body: string };
}

/** Describes the request of a route for another format. */
export interface OpenOptions {
  stream: boolean;
  /** The caller's parsed body: its members are validated like those of a chat request, and its `models` is used. */
  body: Record<string, unknown>;
  /** The caller's original request: a channel that supports its format gets it unchanged. */
  native?: NativeRequest;
  /** The error for a channel that does not support the request's original format. */
  refusal?: PorticoError | undefined;
  /**
   * The members that the translation into this request dropped: named in `x-portico-dropped`, unless the response is
   * native.
   */
  dropped?: readonly string[];
}

/** A response that has begun. */
export type OpenedChat =
  | {
      kind: "whole";
      completion: ChatCompletion;
      /** The response as the upstream sent it, in the native format. */
      native?: Buffer;
    }
  | {
      kind: "stream";
      /** Writes the stream as the response; resolves when the response has closed, from either side. */
      pipe(encoder: StreamEncoder | StreamTranslator): Promise<void>;
    };

/**
 * A completion that has begun. `pipe` writes it as the response, and resolves when the response has closed, from either
 * side.
 */
export type OpenedCompletion =
  | { kind: "whole"; body: Buffer }
  | {
      kind: "stream";
      /** The upstream's name of the model. */
      model: string;
      /** The client requested the usage. */
      includeUsage: boolean;
      /** True if the client sent `functions`, so that calls must be written as `function_call`. */
      functionCalls: boolean;
      pipe(encoder: StreamEncoder): Promise<void>;
    }
  /** A whole completion in JSON that is too large to be held in memory. */
  | { kind: "bytes"; pipe(): Promise<void> };

/**
 * Converts chunks of an OpenAI stream into the text of an event stream.
 * @deprecated Write a `StreamEncoder`, which takes parts.
 */
export interface StreamTranslator {
  chunk(chunk: ChatChunk): string;
  end(): string | Promise<string>;
  /** Returns the last event of a stream that failed. */
  fail(error: PorticoError): string;
  /** Returns an error as an event, without side effects. It ends the stream of a client whose worker is killed. */
  error?(error: PorticoError): string;
}

/** Options of a request from inside the gateway. */
export interface ChatOptions {
  signal?: AbortSignal;
  sessionKey?: string;
  /** Uses only this channel. */
  channel?: string;
  client?: Client;
  /**
   * On whose behalf the request is made, which decides what the models `agent` may use. Default: that of the client if
   * there is one, or else that of the call which the requesting plugin serves.
   */
  principal?: Principal;
  requestId?: string;
  /** Whether to emit `chat:request` and `chat:response` (default true). The caller emits `message:*` events itself. */
  events?: boolean;
}

/** The channels and their state, as `GET /channels` shows them. */
export interface ChannelsService {
  list(): readonly ChannelStatus[];
  /** Returns the targets of a name that a client may request; empty for an unknown name. */
  targets(model: string): Promise<readonly ModelTarget[]>;
  /** Returns the outcomes of the attempts at a provider since the start, in all workers; undefined if there were none. */
  runs(provider: string): Promise<ProviderRuns | undefined>;
}

export interface ModelTarget {
  channel: string;
  provider: string;
  /** The upstream's name of the model. */
  model: string;
  /** See `ChatProvider`. */
  composite: boolean;
}

export interface ProviderRuns {
  runs: number;
  /** The number of failures that the caller did not cause. */
  failures: number;
  /** `at`: ISO time; `stack`: that of the innermost cause. */
  lastError?: { at: string; message: string; stack?: string | undefined } | undefined;
}

/** The state of one channel. */
export interface ChannelStatus {
  name: string;
  provider: string;
  state: "ok" | "failing" | "resting" | "disabled";
  /** The number of failures in a row. */
  failures: number;
  inFlight: number;
  queued: number;
  requests: number;
  errors: number;
  /** Moving average of the time to the first byte, in milliseconds. */
  latencyMs?: number;
  /** The budget, if there is one, with the cost of its current day or month as far as it is known. */
  budget?: { usd: number; per: "day" | "month"; spentUsd?: number | undefined } | undefined;
}
