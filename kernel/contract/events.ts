/** The declaration, handling and emission of events. */
import type { PorticoError } from "../errors.ts";
import type { Principal } from "./principal.ts";

/** Event name → the `context` that its handlers receive. */
export interface Events {
  "gateway:startup": { version: string; port: number };
  "gateway:shutdown": { reason: string };
  "config:changed": { keys: string[] };
  "hook:failed": {
    hook: string;
    event: string;
    error: string;
    file?: string;
    line?: number;
    failures: number;
    resting: boolean;
  };
}
export type EventName = keyof Events & string;

/**
 * Event name → the effects that its handlers may have, for events that allow any: `changes` are the names of the fields
 * of `context` that handlers may change; `may` is `reply`, `block`, or both. The types of handlers follow from it, and
 * the event's declaration must match it.
 */
// biome-ignore lint/suspicious/noEmptyInterface: owners of events add theirs by declaration merging
export interface EventEffects {}

/** The fields of an event's context that handlers may change. */
export type Changeable<K extends EventName> = K extends keyof EventEffects
  ? EventEffects[K] extends { changes: infer F }
    ? F & keyof Events[K] & string
    : never
  : never;

/** The results that handlers of an event may return: `reply`, `block`, both, or neither. */
export type AllowedResult<K extends EventName> = K extends keyof EventEffects
  ? EventEffects[K] extends { may: infer R }
    ? R & ("reply" | "block")
    : never
  : never;

/** The context as a handler sees it: fields that it may not change are read-only. */
export type EventContext<K extends EventName> = Readonly<Omit<Events[K], Changeable<K>>> &
  Pick<Events[K], Changeable<K>>;

/**
 * The mode of an event: `notify` never delays the producer; `change` lets handlers change the named fields; `answer`
 * does too, and the first `{reply}` or `{block}` ends the event.
 */
export type EventMode = "notify" | "change" | "answer";

export interface EventSpec<K extends EventName = EventName> {
  mode: EventMode;
  description: string;
  /** The ways in which a handler may end the event; default both for `answer`, neither for the other modes. */
  effects?: readonly ("reply" | "block")[];
  /** The fields of `context` that a handler may change; all others are read-only. */
  changes?: readonly Changeable<K>[];
  /** A realistic context, for `portico hooks run` and the documentation. */
  sample: Events[K];
}

/** An event as its declaration describes it. */
export type EventOutline = Pick<EventSpec, "mode" | "description" | "effects"> & {
  changes?: readonly string[];
  sample?: unknown;
};

/**
 * An event as a handler sees it. Texts that a handler pushes on `event.messages` are sent as a reply if the event has a
 * recipient.
 */
export interface BusEvent<K extends EventName = EventName> {
  /** The part of the name before the colon (`message`). */
  readonly type: string;
  /** The part of the name after the colon (`received`). */
  readonly action: string;
  readonly name: K;
  readonly sessionKey: string;
  /** The principal on whose behalf the event happens. Requests and events of a handler are on the same behalf. */
  readonly principal: Principal;
  readonly timestamp: Date;
  readonly context: EventContext<K>;
  readonly messages: string[];
}

/** The values that a handler may return: nothing, and the results that its event allows. */
export type HandlerResult<K extends EventName = EventName> =
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing
  | void
  | undefined
  | ("reply" extends AllowedResult<K> ? { reply: string } : never)
  | ("block" extends AllowedResult<K> ? { block: string } : never);

export type BusHandler<K extends EventName = EventName> = (
  event: BusEvent<K>,
  call: { signal: AbortSignal },
) => HandlerResult<K> | Promise<HandlerResult<K>>;

export interface OnOptions {
  /** Handlers with a higher priority run first; default 0. */
  priority?: number;
  /** Deadline in ms after which the handler's signal is aborted and the next handler runs; default 10000. */
  timeoutMs?: number;
  /**
   * Refuses the event (`hook_unavailable`) if the handler fails or exceeds its deadline, instead of letting it pass.
   * Not for `notify`.
   */
  failClosed?: boolean;
  /**
   * Begins each call; without it, calls begin at once. Resolves when the synchronous part of the call has returned, and
   * the deadline counts from there.
   */
  begin?(call: () => void, event: BusEvent): Promise<void>;
  /** Receives the outcome of each call. A caller that sets it logs failures itself. Must not throw. */
  settled?(outcome: Outcome, event: BusEvent): void;
  /** The owner of the registration, for logs; the context fills it in. */
  owner?: string;
  /**
   * False: stray errors and nested events are not traced to the owner. The package's own handlers are not traced,
   * because the first traced call slows every promise of a process on Node 20. Default true.
   */
  traced?: boolean;
  /** True: the handler receives its own copy, and never writes to a fixed field. */
  copies?: boolean;
}

/** The outcome of one handler's call. */
export interface Outcome {
  owner: string;
  ok: boolean;
  ms: number;
  error?: Error;
  timedOut?: boolean;
}

/** The call of one handler for one event, with its effects. */
export interface HandlerRun {
  event: string;
  outcome: Outcome;
  /** The fields of the event's context that the handler changed. Empty if it failed. */
  changes: readonly FieldChange[];
  /** The way in which the handler ended the event. */
  effect?: "reply" | "block" | undefined;
}

export interface FieldChange {
  /**
   * The name of the field, such as `content`; for a field with an object, that of the member: `request.temperature`.
   */
  field: string;
  before: unknown;
  after: unknown;
}

export interface HandlerSelection {
  /**
   * Excludes handlers whose owner also handles this event. A stream is passed to `message:streaming` chunk by chunk; a
   * hook for both that and `message:sending` must not hold the stream back until it is complete.
   */
  unlessOwnerHandles?: EventName | undefined;
}

export interface EmitOptions extends HandlerSelection {
  sessionKey?: string;
  /**
   * The principal on whose behalf the event happens. Default: that of the call which the emitting plugin serves, or
   * `outside` if there is none.
   */
  principal?: Principal;
  /** Called after each handler, so that the caller can report later what each did. It must not throw. */
  trail?: ((run: HandlerRun) => void) | undefined;
}

/**
 * The result of an emission, which never rejects: a handler that throws is an outcome, and so is an event that is not
 * declared or that causes itself endlessly. `context` has the changed fields.
 */
export interface EmitResult<K extends EventName = EventName> {
  context: Events[K];
  reply?: string;
  /** The reason why the event is refused. */
  block?: string;
  /** The refusal as an error to throw: 403 `blocked_by_hook`, or 503 `hook_unavailable`. */
  refusal?: PorticoError;
  /** The texts that handlers pushed on `event.messages`, in order. */
  messages: string[];
  outcomes: Outcome[];
}
