/** Keeps the stored entries in line with the configuration, and runs their loop while the configuration enables it. */
import { type PluginContext, Scope } from "portico";
import { wrongAtStart } from "portico/strings";
import type { LoopSwitch } from "./due-loop.ts";
import type { EnabledOrNot, ScheduleEntries, ScheduleEntry } from "./entries.ts";

export interface LiveEntriesOptions<
  C extends { enabled: boolean },
  G extends EnabledOrNot,
  E extends ScheduleEntry,
> {
  ctx: PluginContext;
  /** The kind of the entries in the store. */
  kind: string;
  entries: Pick<ScheduleEntries<G, E>, "problems" | "sync">;
  loop: LoopSwitch;
  settings: C;
  /** Returns the definitions of a configuration, by name. */
  definitions(settings: C): Readonly<Record<string, G>>;
  /** Called with all entries between the first sync and the start of the loop. */
  prepare(all: readonly E[]): Promise<void>;
}

/**
 * Syncs the entries and starts their loop. Invalid definitions are logged, and the gateway is not ready until they are
 * fixed. They do not prevent other changes, but a change with additional invalid definitions is refused.
 */
export async function openLiveEntries<
  C extends { enabled: boolean },
  G extends EnabledOrNot,
  E extends ScheduleEntry,
>(options: LiveEntriesOptions<C, G, E>) {
  const { ctx, entries, loop, definitions } = options;

  async function switchLoop(enabled: boolean): Promise<void> {
    if (enabled) loop.on();
    else await loop.off();
  }

  let currentProblems = entries.problems(definitions(options.settings));
  const wasWrongAtStart = wrongAtStart(definitions(options.settings), (name) =>
    currentProblems.has(name),
  );
  const logProblems = () => {
    for (const error of currentProblems.values()) ctx.log.error(error.message);
  };
  logProblems();
  const scope = new Scope();
  try {
    scope.add(
      "readiness",
      ctx.readiness(() => [...currentProblems.values()][0]?.message),
    );
    await options.prepare(await entries.sync(definitions(options.settings)));
    scope.add("work", ctx.use("store").onWork(`schedule:${options.kind}`, loop.poke));
    scope.add("loop", loop.off);
    await switchLoop(options.settings.enabled);
  } catch (error) {
    // The next attempt adds its own readiness check and listeners.
    await scope.dispose();
    throw error;
  }

  return {
    /** Throws if a definition is invalid, unless the identical definition was already invalid at the start. */
    async apply(next: C): Promise<void> {
      const problems = entries.problems(definitions(next));
      for (const [name, problem] of problems)
        if (!wasWrongAtStart(name, definitions(next)[name])) throw problem;
      currentProblems = problems;
      logProblems();
      await entries.sync(definitions(next));
      await switchLoop(next.enabled);
    },
    async stop(): Promise<void> {
      const [error] = await scope.dispose();
      if (error) throw error;
    },
  };
}
