/** What a hook gets. */
import type { Logger } from "./common.ts";
import type { BusEvent, EmitResult, EventName, Events, HandlerResult } from "./events.ts";

/** What the kernel gives to each call. Plugins add members by declaration merging and the contribution `hookContext`. */
export interface HookContext {
  readonly log: Logger;
  /** `hooks.entries.<name>` of the configuration: the hook's own options. */
  readonly config: Record<string, unknown>;
  /** The variables of `hooks.entries.<name>.env` and those that `requires.env` names. */
  readonly env: Record<string, string | undefined>;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
  /** Aborted when this version of the hook is replaced or removed: timers and watchers that it started end with it. */
  readonly unloaded: AbortSignal;
  /** Absolute; `state` is for files that a hook keeps, `hook` its own directory. */
  readonly paths: {
    readonly home: string;
    readonly state: string;
    readonly workspace: string;
    readonly hook: string;
  };
  emit<K extends EventName>(name: K, context: Events[K]): Promise<EmitResult<K>>;
}

/** `HookHandler` alone covers the union of all events: narrow it with `event.name`. */
export type HookEvent<K extends EventName = EventName> = { [N in K]: BusEvent<N> }[K];
export type HookHandler<K extends EventName = EventName> = (
  event: HookEvent<K>,
  ctx: HookContext,
) => HandlerResult<K> | Promise<HandlerResult<K>>;
