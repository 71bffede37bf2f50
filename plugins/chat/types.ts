/**
 * What the chat plugin shares with providers, the agent and hooks. Types only: nobody imports this file at run time.
 * Parts for providers (SSE parser, chunk writer, `upstreamError`, `readOpenAiProblem`, data URLs) are in `kernel/stream`,
 * exported from "portico".
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Call, Client, Logger, PorticoError, UpstreamProblem } from "portico";

declare module "portico" {
  interface Services {
    chat: ChatService;
    channels: ChannelsService;
  }
  interface Contributions {
    provider: ChatProvider;
    meter: ChatMeter;
    gate: ChatGate;
  }
  interface Events {
    "message:received": {
      /** Changeable: the text of the last user message. */
      content: string;
      /** `chat`, `webhook`, `cli`, `cron`, `poll`, … */
      source: string;
      model?: string;
      from?: string;
      metadata?: Record<string, unknown>;
    };
    "message:sent": { content: string; source: string; model?: string; to?: string };
    "chat:request": { request: ChatRequest; client?: string; stream: boolean };
    "chat:response": {
      requestId: string;
      model: string;
      channel: string;
      status: number;
      content?: string;
      finishReason?: string;
      usage?: Usage;
      ms: number;
      firstByteMs?: number;
      attempts: number;
      client?: string;
      error?: string;
    };
  }

  /** A chat completions request in OpenAI's form; unknown fields are kept. */
  interface ChatRequest {
    model: string;
    messages: ChatMessage[];
    stream?: boolean | null;
    tools?: ChatTool[] | null;
    [field: string]: unknown;
  }
  interface ChatMessage {
    role: string;
    content?: string | ContentPart[] | null;
    name?: string;
    tool_calls?: ToolCallPart[] | null;
    tool_call_id?: string;
    reasoning_content?: string | null;
    [field: string]: unknown;
  }
  interface ContentPart {
    type: string;
    text?: string;
    image_url?: { url: string; detail?: string };
    [field: string]: unknown;
  }
  interface ChatTool {
    type: string;
    function?: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null };
    [field: string]: unknown;
  }
  interface ToolCallPart {
    index?: number;
    id?: string;
    type?: string;
    function?: { name?: string; arguments?: string };
    /** What a provider wants to see again with the call (signatures). */
    extra_content?: unknown;
  }
  interface Usage {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    prompt_tokens_details?: {
      cached_tokens?: number;
      cache_write_tokens?: number;
      [field: string]: number | undefined;
    };
    completion_tokens_details?: { reasoning_tokens?: number; [field: string]: number | undefined };
  }
  interface ChatCompletion {
    id: string;
    object: "chat.completion";
    created: number;
    model: string;
    choices: { index: number; message: ChatMessage; finish_reason: string | null; logprobs?: unknown }[];
    usage?: Usage;
    [field: string]: unknown;
  }
  interface ChatChunk {
    id: string;
    object: "chat.completion.chunk";
    created: number;
    model: string;
    choices: { index: number; delta: Partial<ChatMessage>; finish_reason: string | null; logprobs?: unknown }[];
    usage?: Usage | null;
    [field: string]: unknown;
  }

  /** One channel and model that a request is tried on. */
  interface Target {
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
    signal: AbortSignal;
    /** `chatcmpl-…` and unix seconds for answers of providers that bring none. */
    id: string;
    created: number;
    /** The bytes of an http(s) or data URL, fetched under the SSRF guard; throws `invalid_request_error` (400). */
    fetchImage(url: string): Promise<{ mediaType: string; data: Buffer }>;
  }

  /**
   * A backend of chat models. It has either `complete`/`stream` (in process, or with a client of its own), or `wire`
   * (the kernel-side HTTP client sends, retries, streams and cancels; the provider only translates). Requests and
   * answers are in OpenAI's form on this side.
   */
  interface ChatProvider {
    name: string;
    description?: string;
    /** Where `baseUrl` is left out. Absent: `baseUrl` is required. */
    defaultBaseUrl?: string;
    /** A channel of this provider and name exists without configuration (`echo`, `agent`). */
    builtinChannel?: string;
    /** It asks other models through the chat service: their usage is counted there, and not here once more. */
    composite?: boolean;
    /** In-process: the answer. Without `stream`, this one is streamed in pieces. */
    complete?(request: ChatRequest, target: Target & CallInfo): Promise<ChatCompletion | string>;
    /** In-process: the answer's pieces; strings are text deltas. */
    stream?(request: ChatRequest, target: Target & CallInfo): AsyncIterable<ChatChunk | string>;
    wire?: WireProvider;
    /** The ids that the upstream lists, for `GET /v1/models`; for in-process providers. */
    models?(target: Target): Promise<string[]> | string[];
  }

  interface CallInfo {
    requestId: string;
    client: Client;
    sessionKey: string;
    /** Parameter paths that the target could not express, for `x-portico-dropped`. */
    dropped: string[];
  }

  interface WireProvider {
    /** The request to send. May throw `PorticoError("invalid_request_error", …, {param})` for what the target cannot express. */
    encode(request: ChatRequest, target: Target): WireRequest | Promise<WireRequest>;
    /**
     * Where the caller's own bytes may be sent as they are (but for the model's name): for upstreams of OpenAI's format when
     * nothing in the request needs changing. `encode` is called where this is absent or undefined, and for requests that
     * came from inside or were changed by a hook.
     */
    passThrough?(target: Target, request: ChatRequest): { url: string; headers: Record<string, string> } | undefined;
    /**
     * A whole 2xx answer. Throws `upstreamError(…)` for an error dressed as an answer. Absent: the answer is in OpenAI's form;
     * errors are found and deviations mended by the caller, and the bytes pass on as they are where nothing was wrong.
     */
    decode?(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
    /**
     * A fresh translator for one stream. Absent: the upstream's stream is in OpenAI's form, and its usual deviations (missing
     * index, id, finish reason or `[DONE]`, errors inside, empty `choices`, …) are mended by the caller.
     */
    decoder?(sent: WireRequest, target: Target): StreamDecoder;
    /** Reads an answer of status >= 400 (or an error event's body): the message and code to pass on. */
    error(status: number, headers: IncomingHttpHeaders, body: Buffer): UpstreamProblem;
    /** By form: see `NativeForm`. */
    native?: Record<string, NativeForm>;
    /** The request that lists models, and how to read its answer. */
    listModels?: { encode(target: Target): WireRequest; decode(body: Buffer): string[] };
    /** The upstream takes `stream_options.include_usage`, and tells its usage in a stream only then. */
    streamUsage?: boolean;
    /** `POST /v1/embeddings`, where the upstream has them: OpenAI's form on this side. */
    embeddings?: {
      encode(request: Record<string, unknown>, target: Target): WireRequest | Promise<WireRequest>;
      decode(body: Buffer, sent: WireRequest, target: Target): Record<string, unknown>;
    };
  }

  /**
   * For callers who speak the upstream's own form: their request goes out, and the answer comes back, as it is. What a
   * translation would lose (signatures, citations, tools of the provider's own) stays.
   */
  interface NativeForm {
    /** The request to send, or undefined where this one must be translated. */
    encode(native: NativeRequest, target: Target): WireRequest | undefined;
    /** The 2xx answer in OpenAI's form, for reports. Throws `upstreamError(…)` for an error dressed as an answer. */
    decode(body: Buffer, sent: WireRequest, target: Target): ChatCompletion;
    /** Passes one stream in the upstream's form, and sees to its usage, finish reason and errors. */
    decoder(sent: WireRequest, target: Target): StreamDecoder;
  }

  interface NativeRequest {
    /** `anthropic` for the Messages API. */
    form: string;
    body: Record<string, unknown>;
    /** Headers that belong to the form (`anthropic-beta`). */
    headers: Record<string, string>;
  }

  /** Hears of every request that went to a channel, or was meant to, once it has ended. It never sees what was said. */
  interface ChatMeter {
    name: string;
    /** Called in the path of the answer: it must be quick, and not throw. */
    finished(record: ChatRecord): void;
  }
  interface ChatRecord {
    requestId: string;
    client: Client;
    /** Of the last attempt; empty where no channel was found. */
    channel: string;
    provider: string;
    /** The upstream's own name of the model. */
    model: string;
    /** 499: the client left. */
    status: number;
    /** As the upstream gave it. Absent: it gave none, or the answer was cut. */
    usage: Usage | undefined;
    ms: number;
    firstByteMs: number | undefined;
    attempts: number;
    stream: boolean;
    /** Its usage is that of other requests, which have records of their own. */
    composite: boolean;
  }

  /** Says what a client key may do. The owner is never asked about. */
  interface ChatGate {
    name: string;
    /** Before anything is done for a request. Throws to refuse it; may set headers on the answer. */
    admit(client: Client, wanted: WantedModel, res: ServerResponse): void | Promise<void>;
    /** Whether the client may use a model; for listings. */
    allows(client: Client, wanted: WantedModel): boolean;
  }
  interface WantedModel {
    /** As the client names it. */
    model: string;
    /** Where it is an alias: everything that it leads to. */
    leadsTo: readonly string[];
  }

  interface WireRequest {
    method: "GET" | "POST";
    url: string;
    headers: Record<string, string>;
    body?: string | Buffer;
    /** Parameter paths that were dropped. */
    dropped: string[];
    /** Whatever `decode`/`decoder` wants to remember of this one request. */
    state?: unknown;
  }

  /**
   * Bytes of the upstream in, bytes of an OpenAI SSE stream out. The caller adds nothing: role first, one
   * finish_reason per choice, the usage chunk only when the request asked for it, `data: [DONE]` last.
   */
  interface StreamDecoder {
    /** May be handed bytes cut anywhere. Throws `upstreamError(…)` for an error event. */
    push(bytes: Buffer): Buffer | undefined;
    /** The upstream ended cleanly. Throws where it was cut short (no finish, no terminal event). */
    end(): Buffer | undefined;
    /** What the upstream said of its usage so far, whether or not the client asked for it. */
    usage?: Usage;
    finishReason?: string;
    /** The text so far, where the decoder keeps it. */
    text?: string;
    /** An error that came behind bytes which `push` has just returned; instead of throwing, which would lose them. */
    failure?: PorticoError;
    /** The last line (`data: [DONE]`) is out: what the upstream may still send is of no interest. */
    done?: boolean;
  }

  /** The channels and how they do, as `GET /channels` shows them. */
  interface ChannelsService {
    list(): readonly ChannelStatus[];
  }
  interface ChannelStatus {
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
  }

  /** Asking a model from inside: the agent, hooks, other plugins. Routing and fail-over as for HTTP callers. */
  interface ChatService {
    complete(request: ChatRequest, options?: ChatOptions): Promise<ChatCompletion>;
    stream(request: ChatRequest, options?: ChatOptions): AsyncIterable<ChatChunk>;
    /**
     * For routes that take chat in another form: what `POST /v1/chat/completions` does between reading the request and
     * writing the answer. Checks the request, emits all events (a hook's reply becomes the answer), routes, sets the
     * `x-portico-*` headers on `call.res`, and cancels when the client leaves. Throws before anything was written.
     */
    open(call: Call, request: ChatRequest, options: OpenOptions): Promise<OpenedChat>;
    /** Everything `GET /v1/models` lists. */
    models(): Promise<{ id: string; object: "model"; created: number; owned_by: string }[]>;
  }
  interface OpenOptions {
    stream: boolean;
    /** The caller's own request: a channel that speaks its form gets it as it is. */
    native?: NativeRequest;
    /** What the translation into this request left out: named in `x-portico-dropped`, unless the answer is native. */
    dropped?: readonly string[];
  }
  type OpenedChat =
    | {
        kind: "whole";
        completion: ChatCompletion /** The same as the upstream sent it, in the native form. */;
        native?: Buffer;
      }
    | {
        kind: "stream";
        /** Writes the stream as the answer; resolves when it is over, from either side. */
        pipe(translator: StreamTranslator): Promise<void>;
      };
  /** Chunks of an OpenAI stream in, text of an event stream out. */
  interface StreamTranslator {
    chunk(chunk: ChatChunk): string;
    end(): string | Promise<string>;
    /** The last event of a stream that broke off. */
    fail(error: PorticoError): string;
  }
  interface ChatOptions {
    signal?: AbortSignal;
    sessionKey?: string;
    /** Only this channel. */
    channel?: string;
    client?: Client;
    requestId?: string;
    /** Emit `chat:request`/`chat:response` (default true). `message:*` events are the caller's. */
    events?: boolean;
  }
}
