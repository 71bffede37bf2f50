/**
 * The event bus: handlers run one after another by priority, each with a deadline. A handler that throws or hangs is an
 * outcome, and does not affect the others. An emit in flight keeps the handlers that it began with.
 */
import type {
  BusEvent,
  BusHandler,
  Dispose,
  EmitOptions,
  EmitResult,
  EventName,
  Events,
  EventSpec,
  HandlerSelection,
  Logger,
  OnOptions,
  Outcome,
} from "../contract/index.ts";
import type { PorticoError } from "../errors.ts";
import { errors } from "./errors.ts";
import { runSeries } from "./event-series.ts";
import { callHandler, type Entry, createEntry } from "./handler-call.ts";
import { NotifyQueues } from "./notify-queues.ts";
import { currentOwner } from "./owner.ts";
import { currentPrincipal } from "./principals.ts";
import { createLists } from "./registry.ts";

/** An event whose name and context are not checked by types. */
export interface UntypedEvent extends EmitOptions {
  name: string;
  context: Record<string, unknown>;
}

type Observer = (event: BusEvent, result: EmitResult) => void;

/** The key of the observers, which receive all events. */
const ANY = "*";
/** An event that causes itself (`a:done` → `b:done` → `a:done` → …) stops at this depth. */
const MAX_NESTED = 8;

export class Bus {
  readonly #log: Logger;
  readonly #queues: NotifyQueues;
  readonly #declarations = createLists<EventSpec>({ onChange: (name) => this.#useLatest(name) });
  /** The active declaration of each event, which is the latest one. */
  readonly #specs = new Map<string, EventSpec>();
  readonly #handlers = createLists<Entry>({
    order: sortByPriority,
    onChange: () => this.#entriesByEvent.clear(),
  });
  /** A cache of the handlers of declared events. It is cleared when a handler is added or removed. */
  readonly #entriesByEvent = new Map<string, readonly Entry[]>();
  readonly #observers = createLists<Observer>();

  constructor(log: Logger) {
    this.#log = log;
    this.#queues = new NotifyQueues(log);
  }

  declare<K extends EventName>(name: K, spec: EventSpec<K>): Dispose {
    return this.#declarations.add(name, spec as unknown as EventSpec);
  }

  on<K extends EventName>(name: K, handler: BusHandler<K>, options?: OnOptions): Dispose {
    return this.#handlers.add(name, createEntry(handler as unknown as BusHandler, options));
  }

  onAny(observer: Observer): Dispose {
    return this.#observers.add(ANY, observer);
  }

  /** Emits an event to its handlers. Never rejects: see `EmitResult`. */
  async emit<K extends EventName>(
    name: K,
    context: Events[K],
    options: EmitOptions = {},
  ): Promise<EmitResult<K>> {
    const result: EmitResult<K> = { context, messages: [], outcomes: [] };
    const spec = this.#specs.get(name);
    if (!spec) return this.#failMisuse(result, errors.undeclaredEvent({ event: name }));
    const entries = this.#select(name, options);
    if (entries.length === 0 && !this.#isObserved()) return result;
    const chain = currentOwner()?.chain;
    if (chain && chain.length >= MAX_NESTED)
      return this.#failMisuse(result, errors.eventLoop({ path: [...chain, name].join(" → ") }));
    const event = createEvent(name, context, options);
    const { trail } = options;
    if (spec.mode !== "notify") await runSeries({ spec, event, entries, result, trail }, this.#log);
    else if (entries.length > 0) this.#queues.add({ event, entries, trail });
    this.#observe(event, result);
    return result;
  }

  /** Calls one handler manually, with an event that no other handler receives. The caller reports a failure. */
  async call(
    { name, context, ...emitOptions }: UntypedEvent,
    handler: BusHandler,
    options: OnOptions,
  ): Promise<Outcome> {
    const entry = createEntry(handler, { settled: () => {}, ...options });
    const event = createEvent(name, context, emitOptions);
    return (await callHandler(entry, event, this.#log)).outcome;
  }

  /** Whether a handler or an observer receives the event. */
  hasListeners(name: string): boolean {
    return this.#findEntries(name).length > 0 || this.#isObserved();
  }

  hasHandlers(name: string, selection: HandlerSelection = {}): boolean {
    return this.#select(name, selection).length > 0;
  }

  spec(name: string): EventSpec | undefined {
    return this.#specs.get(name);
  }

  specs(): ReadonlyMap<string, EventSpec> {
    return this.#specs;
  }

  /** Resolves when every waiting `notify` event has been handled. */
  drain(): Promise<void> {
    return this.#queues.whenEmpty();
  }

  #useLatest(name: string): void {
    const latest = this.#declarations.of(name).at(-1);
    if (latest) this.#specs.set(name, latest);
    else this.#specs.delete(name);
  }

  /** Returns the handlers of the event itself, and those of all events of its kind (`command:*`). */
  #findEntries(name: string): readonly Entry[] {
    const cachedEntries = this.#entriesByEvent.get(name);
    if (cachedEntries) return cachedEntries;
    const exactHandlers = this.#handlers.of(name);
    const kindHandlers = this.#handlers.of(`${name.slice(0, name.indexOf(":"))}:*`);
    const entries =
      kindHandlers.length > 0 ? sortByPriority([...exactHandlers, ...kindHandlers]) : exactHandlers;
    if (this.#specs.has(name)) this.#entriesByEvent.set(name, entries);
    return entries;
  }

  #select(name: string, { unlessOwnerHandles }: HandlerSelection): readonly Entry[] {
    const entries = this.#findEntries(name);
    if (unlessOwnerHandles === undefined) return entries;
    const owners = new Set(this.#findEntries(unlessOwnerHandles).map(({ owner }) => owner));
    return entries.filter(({ owner }) => !owners.has(owner));
  }

  #isObserved(): boolean {
    return this.#observers.of(ANY).length > 0;
  }

  #observe(event: BusEvent, result: EmitResult): void {
    for (const observer of this.#observers.of(ANY)) {
      try {
        observer(event, result);
      } catch (error) {
        this.#log.error({ err: error, event: event.name }, "observer failed");
      }
    }
  }

  /** Turns a wrong use into an outcome, so that `emit` never throws. */
  #failMisuse<K extends EventName>(result: EmitResult<K>, error: PorticoError): EmitResult<K> {
    this.#log.error({ err: error }, error.message);
    result.outcomes.push({ owner: "kernel", ok: false, ms: 0, error });
    return result;
  }
}

/** A stable sort keeps the order of registration within one priority. */
function sortByPriority(entries: Entry[]): Entry[] {
  return entries.sort((a, b) => b.priority - a.priority);
}

/** Creates an event. From here on its type is that of any event; only handlers know which one it is. */
function createEvent(name: string, context: unknown, options: EmitOptions): BusEvent {
  const colon = name.indexOf(":");
  return {
    type: name.slice(0, colon),
    action: name.slice(colon + 1),
    name: name as EventName,
    sessionKey: options.sessionKey ?? "main",
    principal: options.principal ?? currentPrincipal(),
    timestamp: new Date(),
    context: context as BusEvent["context"],
    messages: [],
  };
}
