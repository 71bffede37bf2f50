/** One request for a model on its way to a response. */
import {
  type Client,
  type EmitOptions,
  type PorticoError,
  type Principal,
  principalOf,
} from "portico";
import type { ChatProvider, ChatRequest, NativeRequest, Usage } from "portico/provider";
import type { RawBody } from "./openai/members.ts";
import type { Channel } from "./routing/channel.ts";
import { Story } from "./story.ts";
import type { Limits } from "./upstream/response-extent.ts";
import { errors } from "./errors.ts";

export interface JobOptions {
  request: ChatRequest;
  /** Models to fall back to after the request's own model. */
  fallbacks?: readonly string[] | undefined;
  /** The bytes that the caller sent, with exactly the content of `request`. */
  raw?: RawBody | undefined;
  /** The caller's request in another format, with at least the content of `request`. */
  native?: NativeRequest | undefined;
  /** `request` is a translation from another format. */
  translated?: boolean | undefined;
  /** The error for a target that does not support the request's original format. */
  refusal?: PorticoError | undefined;
  /** The gateway set `stream_options` in `request`, not the client. */
  ownStreamOptions?: boolean | undefined;
  stream: boolean;
  requestId: string;
  client: Client;
  /** Default: the principal of the client. */
  principal?: Principal | undefined;
  sessionKey: string;
  /** Allows only this channel. */
  channel?: string | undefined;
  /** The caller's `traceparent` header. */
  traceparent?: string | undefined;
}

/** The target and the details of the last attempt, for response headers and reports. */
export interface Trace {
  channel: string;
  provider: string;
  /** See `ChatProvider`. */
  composite: boolean;
  /** The provider has already offered its response to handlers itself. */
  judged: boolean;
  model: string;
  attempts: number;
  dropped: string[];
  /** The changes that the provider's rules made to the request, each as a rule's name and a place. */
  changed: string[];
  /** Additions of the gateway to the request of the last attempt. See `WireRequest`. */
  additions: readonly string[];
  /** Set if the model is an alias with a cache. */
  cache?: "hit" | "miss";
}

/**
 * Something that a disconnect of the client cancels. An object and not a function: V8 moves closures that are stored
 * for a moment, and everything that they reference, to the old generation, which made the garbage collector copy every
 * request.
 */
export interface Cancellable {
  cancel(): void;
}

/** How an alias changes a request. Without `apply` it changes nothing. */
export interface Shaping {
  readonly apply: ((request: ChatRequest) => ChatRequest) | undefined;
  /** Applies the same changes to the members of a text completion. */
  readonly completion?: ((members: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

/** Reserves and charges the usage of one request. */
export interface Account {
  /** Reserves the estimated usage before a target is tried. Throws if the request does not fit a limit. */
  reserve(
    target: { channel: Channel; model: string },
    provider: ChatProvider,
  ): Promise<void> | undefined;
  /** Charges the actual usage and cost at the end of the request, as far as they are known. */
  settle(usage: Usage | undefined, cost: number | undefined): Promise<void> | undefined;
}

const NONE: readonly string[] = [];
const NO_TASKS: readonly Cancellable[] = [];

export class Job {
  request: ChatRequest;
  fallbacks: readonly string[];
  raw: RawBody | undefined;
  native: NativeRequest | undefined;
  readonly translated: boolean;
  readonly refusal: PorticoError | undefined;
  readonly ownStreamOptions: boolean;
  readonly stream: boolean;
  readonly requestId: string;
  readonly client: Client;
  readonly principal: Principal;
  readonly sessionKey: string;
  readonly channel: string | undefined;
  readonly traceparent: string | undefined;
  /** The text of a stream is collected for handlers of `chat:response` or `message:sent`. */
  capture = false;
  /** The cache of an alias may be used: it is a chat request without `no-store`. */
  cacheable = false;
  /** Handlers judge the response before it is sent. */
  isJudged = false;
  /** The caller accepts a response that is too large for memory as bytes. See `ChatResponse.bytes`. */
  mayPassRaw = false;
  /** Size limits of a response that is held in memory; undefined for chat. */
  limits: Limits | undefined;
  /** Tokens are counted: the gateway requests the usage from the upstream even if the client does not. */
  metered = false;
  readonly trace: Trace = {
    channel: "",
    provider: "",
    composite: false,
    judged: false,
    model: "",
    attempts: 0,
    dropped: [],
    changed: [],
    additions: [],
  };
  /** Records what happens to the request, so that it can be shown later. */
  readonly story: Story;
  readonly startedAt = performance.now();
  /** The reply of a handler of `chat:request`. */
  reply: string | undefined;
  /** The usage of a response that was received and then refused. */
  refusedUsage: Usage | undefined;
  cancelled = false;
  /** The account of the limits that the request's usage counts against. */
  account: Account | undefined;
  /** The members by which tokens are estimated instead of `request`, for a route other than chat. */
  members: Readonly<Record<string, unknown>> | undefined;
  /** An attempt is running: the upstream may have the request. */
  isAttempting = false;
  /** In US dollars, once it is known. */
  cost: number | undefined;
  /** Tags of the client, for reports. */
  tags: readonly string[] = NONE;
  /** The alias settings that were applied last. */
  shapedBy: Shaping | undefined;
  #unshaped: Pick<Job, "request" | "raw" | "native"> | undefined;
  /**
   * These are cancelled in order when the client disconnects. Mostly there is one, so the array is copied: one that
   * grows allocates room for 17.
   */
  #tasks: readonly Cancellable[] = NO_TASKS;
  #controller: AbortController | undefined;

  constructor(options: JobOptions) {
    this.request = options.request;
    this.fallbacks = options.fallbacks ?? NONE;
    this.raw = options.raw;
    this.native = options.native;
    this.translated = options.translated === true;
    this.refusal = options.refusal;
    this.ownStreamOptions = this.translated || options.ownStreamOptions === true;
    this.stream = options.stream;
    this.requestId = options.requestId;
    this.client = options.client;
    this.principal = options.principal ?? principalOf(options.client);
    this.sessionKey = options.sessionKey;
    this.channel = options.channel;
    this.traceparent = options.traceparent;
    const { requestId, fallbacks, stream, client, principal } = this;
    const { model } = this.request;
    this.story = new Story({ requestId, model, fallbacks, stream, client, principal });
  }

  /** Options of the job's events: their principal, and where the outcomes of handlers are recorded. */
  get emitOptions(): EmitOptions {
    return {
      sessionKey: this.sessionKey,
      principal: this.principal,
      trail: (run) => this.story.recordRun(run),
    };
  }

  /** Applies the settings of an alias to the original request, or restores it if there are none. */
  applyShape(shaping: Shaping | undefined): void {
    this.shapedBy = shaping;
    const apply = shaping?.apply;
    if (apply === undefined && this.#unshaped === undefined) return;
    this.#unshaped ??= { request: this.request, raw: this.raw, native: this.native };
    const { request, raw, native } = this.#unshaped;
    this.request = apply === undefined ? request : apply(request);
    this.raw = apply === undefined ? raw : undefined;
    this.native = apply === undefined ? native : undefined;
  }

  /** Whether the client requested the usage chunk. */
  get includeUsage(): boolean {
    const options = this.request["stream_options"] as
      | { include_usage?: unknown }
      | null
      | undefined;
    return options?.include_usage === true;
  }

  /** The signal is created at first use, because most requests need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Cancels the job because the caller disconnected. The connection to the upstream is closed at once. */
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#controller?.abort(new DOMException("The client disconnected.", "AbortError"));
    const tasks = this.#tasks;
    this.#tasks = NO_TASKS;
    for (const task of tasks) task.cancel();
  }

  /**
   * Registers an object that is cancelled when the client disconnects. A listener of an `AbortSignal` would cost 3 µs
   * and more.
   */
  onCancel(task: Cancellable): void {
    this.#tasks = this.#tasks.length === 0 ? [task] : [...this.#tasks, task];
  }

  /** Removes an object that needs no cancelling any more. */
  offCancel(task: Cancellable): void {
    const isOnly = this.#tasks.length === 1 && this.#tasks[0] === task;
    this.#tasks = isOnly ? NO_TASKS : this.#tasks.filter((other) => other !== task);
  }
}

/** Creates the error for a caller that has disconnected. Only logs and reports show it. */
export function clientDisconnected(): PorticoError {
  return errors.clientDisconnected();
}
