/** The arguments of a hook's handler. */
import type { Logger } from "./common.ts";
import type { BusEvent, EmitResult, EventName, Events, HandlerResult } from "./events.ts";

/**
 * The context that each call receives from the kernel. Plugins add members by declaration merging and the contribution
 * `hookContext`.
 */
export interface HookContext {
  readonly log: Logger;
  /** `hooks.entries.<name>` of the configuration: the hook's own options. */
  readonly config: Record<string, unknown>;
  /** The variables of `hooks.entries.<name>.env` and those that `requires.env` names. */
  readonly env: Record<string, string | undefined>;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Aborted when this version of the hook is replaced or removed, so that its timers and watchers can end. */
  readonly unloaded: AbortSignal;
  /** Absolute paths: `state` is for files that a hook stores, `hook` is its own directory. */
  readonly paths: {
    readonly home: string;
    readonly state: string;
    readonly workspace: string;
    readonly hook: string;
  };
  emit<K extends EventName>(name: K, context: Events[K]): Promise<EmitResult<K>>;
}

/** The event of a handler. Without a type argument it is the union of all events: narrow it with `event.name`. */
export type HookEvent<K extends EventName = EventName> = { [N in K]: BusEvent<N> }[K];
export type HookHandler<K extends EventName = EventName> = (
  event: HookEvent<K>,
  ctx: HookContext,
) => HandlerResult<K> | Promise<HandlerResult<K>>;
