/** The services that answer requests for models from inside the gateway. */
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

/** Asking a model from inside: the agent, hooks, other plugins. Routing and fail-over as for HTTP callers. */
export interface ModelsService {
  /** A copy of a value in which no secret is left that the gateway or a provider knows. */
  mask<T>(value: T): T;
  complete(request: ChatRequest, options?: ChatOptions): Promise<ChatCompletion>;
  /** The response as it comes: what one read of the upstream brought is one list. */
  parts(request: ChatRequest, options?: ChatOptions): AsyncIterable<readonly StreamPart[]>;
  /** The same as chunks in OpenAI's form. */
  stream(request: ChatRequest, options?: ChatOptions): AsyncIterable<ChatChunk>;
  /**
   * For routes that take chat in another form: what `POST /v1/chat/completions` does between reading the request and
   * writing the response. Checks the request, emits all events (a hook's reply becomes the response), routes, sets the
   * `x-portico-*` headers on `call.res`, and cancels when the client disconnects. Throws before anything was written.
   */
  open(call: Call, request: ChatRequest, options: OpenOptions): Promise<OpenedChat>;
  /**
   * The same for `POST /v1/chat/completions`, whose form is the engine's own. `body` is what `raw` says. Where nothing
   * has to look into the request or the response, their bytes are passed on unchanged.
   */
  openCompletion(call: Call, body: unknown, raw: RawBody): Promise<OpenedCompletion>;
  /**
   * What to ask where nobody has named a model: the first model of the channel of the highest priority, and `undefined`
   * where no channel is configured; with `channel` that one's first. Throws where there are channels, and none of them can be asked for its models.
   */
  defaultModel(channel?: string): Promise<string | undefined>;
  /**
   * For OpenAI's routes that are not chat: the same keys, limits, routing, fail-over, usage and events. Writes the
   * response by itself, or throws before anything was written: 400 `unsupported_endpoint` where no channel of the model
   * has the route.
   */
  forward(call: Call, request: ForwardRequest): Promise<void>;
  /**
   * How many tokens a request has, as its model's upstream counts them; undefined where that cannot be asked. Throws
   * `model_not_found` (404), and what the gates refuse.
   */
  countTokens(
    call: Call,
    request: ChatRequest,
    native: NativeRequest | undefined,
  ): Promise<number | undefined>;
  /**
   * For what asks a model later (a turn, a job, a poll): throws `model_not_found` (404, `param: "model"`) where no alias
   * and no channel can serve the model, and `invalid_request_error` (400, `param: "channel"`) for a channel that does not
   * exist. A channel that does not say its models may have any. With `client`, the message suggests what it may use.
   */
  checkModel(
    target: { model?: string | undefined; channel?: string | undefined },
    options?: { client?: Client | undefined },
  ): Promise<void>;
  /** Everything `GET /v1/models` lists. */
  models(): Promise<{ id: string; object: "model"; created: number; owned_by: string }[]>;
}

/** @deprecated The name of `ModelsService` that plugins of users know. */
export type ChatService = ModelsService;

/** A request to one of OpenAI's routes beside chat. */
export interface ForwardRequest {
  route: ApiRoute;
  model: string;
  /** Models to go on to after it. */
  fallbacks?: readonly string[];
  /** An event stream is asked for. */
  stream: boolean;
  /** What `message:received` shows, and may change or refuse; absent where the request has no text. */
  text?: string | undefined;
  contentType: string;
  /** The body for one target's model. `text` is what hooks made of it; undefined where they changed nothing. */
  body(model: string, text: string | undefined): string | Buffer | BodySource;
  /** The members of a JSON body, for providers that translate; absent for other bodies. */
  fields?(text: string | undefined): Record<string, unknown>;
  /** The response with a hook's text in place of a model's; absent where there is no such form: refused then. */
  reply?(text: string): { contentType: string; body: string };
}

/** Describes the request of a route for another format. */
export interface OpenOptions {
  stream: boolean;
  /** The caller's body as it was parsed: its members are checked like those of a chat request, and its `models` heeded. */
  body: Record<string, unknown>;
  /** The caller's own request: a channel that speaks its form gets it as it is. */
  native?: NativeRequest;
  /** Why a channel that does not speak the request's own form cannot answer it. */
  refusal?: PorticoError | undefined;
  /** What the translation into this request left out: named in `x-portico-dropped`, unless the response is native. */
  dropped?: readonly string[];
}

/** A response that has begun. */
export type OpenedChat =
  | {
      kind: "whole";
      completion: ChatCompletion;
      /** The same as the upstream sent it, in the native form. */
      native?: Buffer;
    }
  | {
      kind: "stream";
      /** Writes the stream as the response; resolves when it is over, from either side. */
      pipe(encoder: StreamEncoder | StreamTranslator): Promise<void>;
    };

/** A completion that has begun. `pipe` writes it as the response; it resolves when that is over, from either side. */
export type OpenedCompletion =
  | { kind: "whole"; body: Buffer }
  | {
      kind: "stream";
      /** The name that the upstream has for the model. */
      model: string;
      /** The client asked for the usage. */
      includeUsage: boolean;
      /** True if the client sent `functions`, so that calls must be written as `function_call`. */
      functionCalls: boolean;
      pipe(encoder: StreamEncoder): Promise<void>;
    }
  /** A whole one in JSON that is too large to be held. */
  | { kind: "bytes"; pipe(): Promise<void> };

/**
 * Chunks of an OpenAI stream in, text of an event stream out.
 * @deprecated Write a `StreamEncoder`, which takes parts.
 */
export interface StreamTranslator {
  chunk(chunk: ChatChunk): string;
  end(): string | Promise<string>;
  /** The last event of a stream that broke off. */
  fail(error: PorticoError): string;
  /** An error as an event; it changes nothing. It ends the stream of a client whose worker is killed. */
  error?(error: PorticoError): string;
}

/** On whose behalf a model is asked, and how. */
export interface ChatOptions {
  signal?: AbortSignal;
  sessionKey?: string;
  /** Only this channel. */
  channel?: string;
  client?: Client;
  /**
   * On whose behalf: decides what the models `agent` may use. Default: the client's where there is one, else that of the
   * call which the asking plugin serves.
   */
  principal?: Principal;
  requestId?: string;
  /** Emit `chat:request`/`chat:response` (default true). `message:*` events are the caller's. */
  events?: boolean;
}

/** The channels and how they do, as `GET /channels` shows them. */
export interface ChannelsService {
  list(): readonly ChannelStatus[];
  /** Where a name leads that a client may ask for: none where it leads nowhere. */
  targets(model: string): Promise<readonly ModelTarget[]>;
  /** How the attempts at a provider have gone since the start, in all workers; undefined where there were none. */
  runs(provider: string): Promise<ProviderRuns | undefined>;
}

export interface ModelTarget {
  channel: string;
  provider: string;
  /** The upstream's own name. */
  model: string;
  /** See `ChatProvider`. */
  composite: boolean;
}

export interface ProviderRuns {
  runs: number;
  /** Those that were not the caller's fault. */
  failures: number;
  /** `at`: ISO time; `stack`: of the error that was thrown first. */
  lastError?: { at: string; message: string; stack?: string | undefined } | undefined;
}

/** How one channel does. */
export interface ChannelStatus {
  name: string;
  provider: string;
  state: "ok" | "failing" | "resting" | "disabled";
  /** In a row. */
  failures: number;
  inFlight: number;
  queued: number;
  requests: number;
  errors: number;
  /** Moving average to the first byte, milliseconds. */
  latencyMs?: number;
  /** Where it has a budget: what its current day or month has cost, as far as that is known. */
  budget?: { usd: number; per: "day" | "month"; spentUsd?: number | undefined } | undefined;
}
