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
  /** Models to go on to after the request's own. */
  fallbacks?: readonly string[] | undefined;
  /** The caller's own bytes, whose content is exactly `request`. */
  raw?: RawBody | undefined;
  /** The caller's own request in another form, with the content of `request` or more. */
  native?: NativeRequest | undefined;
  /** `request` is a translation from another form. */
  translated?: boolean | undefined;
  /** Why a target that does not speak the request's own form cannot answer it. */
  refusal?: PorticoError | undefined;
  /** `stream_options` in `request` is the gateway's own work, and no client's wish. */
  ownStreamOptions?: boolean | undefined;
  stream: boolean;
  requestId: string;
  client: Client;
  /** Default: the client's. */
  principal?: Principal | undefined;
  sessionKey: string;
  /** Only this channel. */
  channel?: string | undefined;
  /** The caller's own trace, as its header has it. */
  traceparent?: string | undefined;
}

/** Where the last attempt went, for response headers and reports. */
export interface Trace {
  channel: string;
  provider: string;
  /** See `ChatProvider`. */
  composite: boolean;
  /** Its provider has had it judged. */
  judged: boolean;
  model: string;
  attempts: number;
  dropped: string[];
  /** What the provider's rules changed in the request: a rule's name and a place. */
  changed: string[];
  /** What the gateway has added to the request of the last attempt: see `WireRequest`. */
  additions: readonly string[];
  /** Where an alias with a cache was asked. */
  cache?: "hit" | "miss";
}

/**
 * An object and not a function: V8 moves closures that are stored for a moment, and all that hangs on them, to the old
 * generation, which made the garbage collector copy every request.
 */
export interface Worker {
  cancel(): void;
}

/** What an alias makes of a request; without `apply`, nothing. */
export interface Shaping {
  readonly apply: ((request: ChatRequest) => ChatRequest) | undefined;
  /** The same for the members of a text completion. */
  readonly completion?: ((members: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

/** The limits that a request counts against by what it uses. */
export interface Account {
  /** Before a target is asked. Throws where the request does not fit. */
  reserve(
    target: { channel: Channel; model: string },
    provider: ChatProvider,
  ): Promise<void> | undefined;
  /** At its end, with what it used and what that cost, as far as they are known. */
  settle(usage: Usage | undefined, cost: number | undefined): Promise<void> | undefined;
}

const NONE: readonly string[] = [];
const NOBODY: readonly Worker[] = [];

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
  /** Keep the text of a stream, for handlers of `chat:response` or `message:sent`. */
  capture = false;
  /** An alias's cache may give and keep the response: it is of chat, and the caller did not send `no-store`. */
  cacheable = false;
  /** Handlers judge its response before it leaves. */
  leaves = false;
  /** The caller takes a response that is too large to be held as bytes: see `ChatResponse.bytes`. */
  mayPassRaw = false;
  /** Of a response that is held; undefined for those of chat. */
  limits: Limits | undefined;
  /** Tokens are counted: the gateway asks the upstream for its usage, whether or not the client does. */
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
  /** Records what happens to it, so that it can be shown later. */
  readonly story: Story;
  readonly startedAt = performance.now();
  /** What a handler of `chat:request` has answered. */
  reply: string | undefined;
  /** The usage of a response that was refused after it had come. */
  spent: Usage | undefined;
  cancelled = false;
  /** Limits that it counts against by what it uses. */
  account: Account | undefined;
  /** What its tokens are estimated by, where that is not `request`: that of a route beside chat. */
  members: Readonly<Record<string, unknown>> | undefined;
  /** An attempt is under way: the upstream may have the request. */
  isAsking = false;
  /** US dollars, once it is known. */
  cost: number | undefined;
  /** Names that the client gave it, for reports. */
  tags: readonly string[] = NONE;
  /** What the request has last been shaped by. */
  shapedBy: Shaping | undefined;
  #unshaped: Pick<Job, "request" | "raw" | "native"> | undefined;
  /** Cancelled in this order when the client disconnects. Mostly there is one, and a list that grows has room for 17. */
  #workers: readonly Worker[] = NOBODY;
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

  /** Options of its events: on whose behalf they are emitted, and where the outcomes of handlers are recorded. */
  get emitOptions(): EmitOptions {
    return {
      sessionKey: this.sessionKey,
      principal: this.principal,
      trail: (run) => this.story.ran(run),
    };
  }

  /** The request as an alias shapes it for its targets; without one, as it was. */
  shape(by: Shaping | undefined): void {
    this.shapedBy = by;
    const apply = by?.apply;
    if (apply === undefined && this.#unshaped === undefined) return;
    this.#unshaped ??= { request: this.request, raw: this.raw, native: this.native };
    const { request, raw, native } = this.#unshaped;
    this.request = apply === undefined ? request : apply(request);
    this.raw = apply === undefined ? raw : undefined;
    this.native = apply === undefined ? native : undefined;
  }

  /** The client asked for the usage chunk. */
  get includeUsage(): boolean {
    const options = this.request["stream_options"] as
      | { include_usage?: unknown }
      | null
      | undefined;
    return options?.include_usage === true;
  }

  /** Made at first use: most requests need none. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.cancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** The caller has gone: the upstream is cut at once. */
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#controller?.abort(new DOMException("The client disconnected.", "AbortError"));
    const workers = this.#workers;
    this.#workers = NOBODY;
    for (const worker of workers) worker.cancel();
  }

  /** Cancels the worker when the client disconnects. A listener of an `AbortSignal` would cost 3 µs and more. */
  onCancel(worker: Worker): void {
    this.#workers = this.#workers.length === 0 ? [worker] : [...this.#workers, worker];
  }

  /** The worker has done its work. */
  offCancel(worker: Worker): void {
    const isOnly = this.#workers.length === 1 && this.#workers[0] === worker;
    this.#workers = isOnly ? NOBODY : this.#workers.filter((one) => one !== worker);
  }
}

/** For callers that have gone: nobody reads it. */
export function clientDisconnected(): PorticoError {
  return errors.clientDisconnected();
}
