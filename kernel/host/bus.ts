import { isDeepStrictEqual } from "node:util";
import { withDeadline } from "../timing/deadline.ts";
import { asError, PorticoError } from "../errors.ts";
import { runAs, running } from "./owner.ts";
import { currentPrincipal } from "./principals.ts";
import { createLists } from "./registry.ts";
import type {
  BusEvent,
  BusHandler,
  Dispose,
  EmitOptions,
  EmitResult,
  EventName,
  Events,
  EventSpec,
  FieldChange,
  HandlerResult,
  HandlerRun,
  HandlerSelection,
  Logger,
  OnOptions,
  Outcome,
} from "../contract/index.ts";

type Entry = OnOptions &
  Required<Pick<OnOptions, "priority" | "timeoutMs" | "owner" | "traced">> & {
    handler: BusHandler;
  };

/** An event of a name and a context that nobody has checked. */
export interface GivenEvent extends EmitOptions {
  name: string;
  context: Record<string, unknown>;
}
type Trail = ((run: HandlerRun) => void) | undefined;

interface Queue {
  waiting: { event: BusEvent; entries: readonly Entry[]; trail: Trail }[];
  dropped: number;
  work?: Promise<void>;
}
type Observer = (event: BusEvent, result: EmitResult) => void;

/** Where observers are listed, who look at all events. */
const any = "*";
/** An event that causes itself (`a:done` → `b:done` → `a:done` → …) stops here. */
const maxDepth = 8;
/** Beyond this many waiting events of one name the oldest is dropped, and said. */
const maxQueue = 1000;

/**
 * The event bus: handlers run one after another by priority, each with a deadline; one that throws or hangs is an
 * outcome and harms nobody. An emit in flight keeps the handlers that it began with.
 */
export function createBus(log: Logger) {
  /** In force: of each event's declarations the latest. */
  const specs = new Map<string, EventSpec>();
  const declarations = createLists<EventSpec>({
    changed(name) {
      const latest = declarations.of(name).at(-1);
      if (latest) specs.set(name, latest);
      else specs.delete(name);
    },
  });
  /** Of the declared events that were asked for, until a handler comes or goes. */
  const found = new Map<string, readonly Entry[]>();
  const handlers = createLists<Entry>({ order: byPriority, changed: () => found.clear() });
  const observers = createLists<Observer>();
  const queues = new Map<string, Queue>();

  function on<K extends EventName>(name: K, handler: BusHandler<K>, options?: OnOptions): Dispose {
    return handlers.add(name, entryOf(handler as unknown as BusHandler, options));
  }

  /** Those of the event itself, and of all events of its kind (`command:*`). */
  function handlersOf(name: string): readonly Entry[] {
    let all = found.get(name);
    if (all) return all;
    const own = handlers.of(name);
    const family = handlers.of(`${name.slice(0, name.indexOf(":"))}:*`);
    all = family.length ? byPriority([...own, ...family]) : own;
    if (specs.has(name)) found.set(name, all);
    return all;
  }

  function selectHandlers(
    name: string,
    { unlessOwnerHandles: other }: HandlerSelection,
  ): readonly Entry[] {
    const entries = handlersOf(name);
    if (other === undefined) return entries;
    const owners = new Set(handlersOf(other).map(({ owner }) => owner));
    return entries.filter(({ owner }) => !owners.has(owner));
  }

  function emit<K extends EventName>(
    name: K,
    context: Events[K],
    options: EmitOptions = {},
  ): Promise<EmitResult<K>> {
    const spec = specs.get(name);
    const entries = selectHandlers(name, options);
    const result: EmitResult<K> = { context, messages: [], outcomes: [] };
    if (!spec) return misuse(result, "internal_error", `Nobody has declared the event ${name}.`);
    if (!has(name, entries)) return Promise.resolve(result);
    const chain = running()?.chain;
    if (chain && chain.length >= maxDepth) {
      const path = [...chain, name].join(" → ");
      return misuse(result, "event_loop", `Events cause each other without end: ${path}.`);
    }
    const event = createEvent(name, context, options);
    const { trail } = options;
    if (spec.mode !== "notify") return runSeries(spec, event, entries, result, trail);
    if (entries.length) enqueue(name, event, entries, trail);
    observe(event, result);
    return Promise.resolve(result);
  }

  /** An outcome as any other: emit() never throws. */
  function misuse<K extends EventName>(
    result: EmitResult<K>,
    code: string,
    message: string,
  ): Promise<EmitResult<K>> {
    const error = new PorticoError(code, message);
    log.error({ err: error }, message);
    result.outcomes.push({ owner: "kernel", ok: false, ms: 0, error });
    return Promise.resolve(result);
  }

  function enqueue(name: string, event: BusEvent, entries: readonly Entry[], trail: Trail): void {
    let queue = queues.get(name);
    if (!queue) queues.set(name, (queue = { waiting: [], dropped: 0 }));
    if (queue.waiting.length >= maxQueue) {
      queue.waiting.shift();
      if (queue.dropped++ % maxQueue === 0)
        log.warn({ event: name, dropped: queue.dropped }, "handlers are too slow");
    }
    queue.waiting.push({ event, entries, trail });
    queue.work ??= drainQueue(queue);
  }

  async function drainQueue(queue: Queue): Promise<void> {
    for (let next = queue.waiting.shift(); next; next = queue.waiting.shift()) {
      for (const entry of next.entries) {
        const { outcome } = await runOne(entry, next.event);
        next.trail?.({ event: next.event.name, outcome, changes: NO_CHANGES });
      }
    }
    queue.work = undefined;
  }

  /** Fills in the result: the changed context, what was said and done, and how the event ended. */
  async function runSeries<K extends EventName>(
    spec: EventSpec,
    event: BusEvent,
    entries: readonly Entry[],
    result: EmitResult<K>,
    trail: Trail,
  ): Promise<EmitResult<K>> {
    const changes: readonly string[] = spec.changes ?? [];
    const effects = spec.effects ?? (spec.mode === "answer" ? ["reply", "block"] : []);
    const context: Record<string, unknown> = { ...event.context };
    result.context = context as Events[K];
    for (const entry of entries) {
      const view = entry.copies ? { ...context } : changeableView(context, changes);
      const said: string[] = [];
      const { outcome, result: given } = await runOne(entry, {
        ...event,
        context: view as BusEvent["context"],
        messages: said,
      });
      result.outcomes.push(outcome);
      trail?.({
        event: event.name,
        outcome,
        changes: outcome.ok ? changesOf(changes, context, view) : NO_CHANGES,
        effect: effectOf(given, effects),
      });
      if (!outcome.ok) {
        if (!entry.failClosed) continue;
        result.refusal = unavailable(entry, event.name);
        result.block = result.refusal.message;
        break;
      }
      for (const field of changes) context[field] = view[field];
      result.messages.push(...said);
      if (!given) continue;
      if ("block" in given && given.block !== undefined && effects.includes("block")) {
        result.block = String(given.block);
        result.refusal = new PorticoError(
          "blocked_by_hook",
          result.block || "A hook refused this.",
          {
            type: "invalid_request_error",
          },
        );
        break;
      }
      if ("reply" in given && given.reply !== undefined && effects.includes("reply")) {
        result.reply = String(given.reply);
        break;
      }
    }
    observe(event, result);
    return result;
  }

  async function runOne(
    entry: Entry,
    event: BusEvent,
  ): Promise<{ outcome: Outcome; result?: HandlerResult }> {
    const began = performance.now();
    // Its signal costs more than most calls: it is made when somebody asks for it.
    const controller = new AbortController();
    const chain = running()?.chain;
    let given: ReturnType<BusHandler>;
    const begin = () => {
      if (!entry.traced) given = entry.handler(event, controller);
      else
        given = runAs(entry.owner, () => entry.handler(event, controller), {
          event: event.name,
          chain,
          principal: event.principal,
        });
    };
    try {
      if (entry.begin) await entry.begin(begin, event);
      else begin();
      if (given instanceof Object && "then" in given)
        given = await withDeadline(given as Promise<HandlerResult>, entry.timeoutMs, () => {
          const error = new DeadlineError(
            `still running after its deadline of ${entry.timeoutMs} ms`,
          );
          controller.abort(error);
          return error;
        });
      return { outcome: settle(entry, event, began), result: given };
    } catch (thrown) {
      const error = asError(thrown);
      if (!entry.settled)
        log.warn({ event: event.name, owner: entry.owner, err: error }, "handler failed");
      return { outcome: settle(entry, event, began, error) };
    }
  }

  function has(name: string, entries = handlersOf(name)): boolean {
    return entries.length > 0 || observers.of(any).length > 0;
  }

  function observe(event: BusEvent, result: EmitResult): void {
    for (const observer of observers.of(any)) {
      try {
        observer(event, result);
      } catch (error) {
        log.error({ err: error, event: event.name }, "observer failed");
      }
    }
  }

  return {
    declare: <K extends EventName>(name: K, spec: EventSpec<K>): Dispose =>
      declarations.add(name, spec as unknown as EventSpec),
    on,
    onAny: (observer: Observer): Dispose => observers.add(any, observer),
    emit,
    /** One call by hand, with an event that nobody else sees. The caller reports a failure. */
    async call(
      { name, context, ...to }: GivenEvent,
      handler: BusHandler,
      options: OnOptions,
    ): Promise<Outcome> {
      const entry = entryOf(handler, { settled: () => {}, ...options });
      return (await runOne(entry, createEvent(name, context, to))).outcome;
    },
    has: (name: string): boolean => has(name),
    handles: (name: string, selection: HandlerSelection = {}): boolean =>
      selectHandlers(name, selection).length > 0,
    spec: (name: string): EventSpec | undefined => specs.get(name),
    specs: (): ReadonlyMap<string, EventSpec> => specs,
    /** Resolves when every waiting `notify` event has been handled. */
    async drain(): Promise<void> {
      await Promise.all([...queues.values()].map((queue) => queue.work));
    },
  };
}
export type Bus = ReturnType<typeof createBus>;

function entryOf(
  handler: BusHandler,
  { priority = 0, timeoutMs = 10_000, owner = "kernel", traced = true, ...how }: OnOptions = {},
): Entry {
  return { handler, priority, timeoutMs, owner, traced, ...how };
}

function settle(entry: Entry, event: BusEvent, began: number, error?: Error): Outcome {
  const outcome: Outcome = {
    owner: entry.owner,
    ok: error === undefined,
    ms: performance.now() - began,
  };
  if (error)
    Object.assign(outcome, { error, timedOut: error instanceof DeadlineError || undefined });
  entry.settled?.(outcome, event);
  return outcome;
}

/** A handler was still running at its deadline; its signal has been aborted. */
class DeadlineError extends Error {
  override name = "DeadlineError";
}

/** Of one event or another from here on: only handlers know which. */
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

/** A stable sort keeps the order of registration within one priority. */
const byPriority = (entries: Entry[]): Entry[] => entries.sort((a, b) => b.priority - a.priority);

const NO_CHANGES: readonly FieldChange[] = [];

/** What a handler changed. An object is compared member by member: `request` would say nothing. */
function changesOf(
  fields: readonly string[],
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): FieldChange[] {
  return fields.flatMap((field) => {
    const [old, next] = [before[field], after[field]];
    if (isDeepStrictEqual(old, next)) return [];
    if (!isMembers(old) || !isMembers(next)) return [{ field, before: old, after: next }];
    return [...new Set([...Object.keys(old), ...Object.keys(next)])]
      .filter((name) => !isDeepStrictEqual(old[name], next[name]))
      .map((name) => ({ field: `${field}.${name}`, before: old[name], after: next[name] }));
  });
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How a handler's result ended the event; undefined where it did not. */
function effectOf(
  given: HandlerResult | undefined,
  effects: readonly string[],
): "reply" | "block" | undefined {
  if (!given) return undefined;
  if ("block" in given && given.block !== undefined && effects.includes("block")) return "block";
  if ("reply" in given && given.reply !== undefined && effects.includes("reply")) return "reply";
  return undefined;
}

/** What an event is refused with while a handler that has to judge it does not. */
function unavailable(entry: Entry, event: string): PorticoError {
  const who = entry.owner.replace(":", " ");
  return new PorticoError(
    "hook_unavailable",
    `The ${who} has to judge ${event} and does not work: try again later.`,
  );
}

/** A copy in which only the changeable fields can be set: a handler that fails half-way has changed nothing. */
function changeableView(
  context: Record<string, unknown>,
  changes: readonly string[],
): Record<string, unknown> {
  const view: Record<string, unknown> = {};
  for (const key in context) {
    const writable = changes.includes(key);
    const value =
      writable && context[key] instanceof Object ? structuredClone(context[key]) : context[key];
    Object.defineProperty(view, key, { value, writable, enumerable: true, configurable: false });
  }
  for (const key of changes)
    if (!(key in view))
      Object.defineProperty(view, key, { value: undefined, writable: true, enumerable: true });
  return view;
}
