/** Keeps entries as the configuration has them, and their loop running for as long as the configuration lets it. */
import { type PluginContext, Scope } from "portico";
import type { LoopSwitch } from "./due-loop.ts";
import type { createScheduleEntries, EnabledOrNot, ScheduleEntry } from "./entries.ts";

export interface LiveEntriesOptions<C extends { enabled: boolean }, G extends EnabledOrNot, E extends ScheduleEntry> {
  ctx: PluginContext;
  /** The kind in the store. */
  kind: string;
  entries: Pick<ReturnType<typeof createScheduleEntries<G, E>>, "problems" | "sync">;
  loop: LoopSwitch;
  settings: C;
  /** The definitions of a configuration, by name. */
  definitions(settings: C): Readonly<Record<string, G>>;
  /** Called between the first sync and the start of the loop, with all that there are. */
  prepare(all: readonly E[]): Promise<void>;
}

/**
 * Syncs the entries and starts their loop. Wrong definitions are logged and make the gateway not ready until a configuration
 * without any is applied; one that has some is refused.
 */
export async function openLiveEntries<C extends { enabled: boolean }, G extends EnabledOrNot, E extends ScheduleEntry>(
  options: LiveEntriesOptions<C, G, E>,
) {
  const { ctx, entries, loop, definitions } = options;

  async function turn(enabled: boolean): Promise<void> {
    if (enabled) loop.on();
    else await loop.off();
  }

  const wrong = entries.problems(definitions(options.settings));
  for (const error of wrong.values()) ctx.log.error(error.message);
  const scope = new Scope();
  try {
    scope.add(
      "readiness",
      ctx.readiness(() => [...wrong.values()][0]?.message),
    );
    await options.prepare(await entries.sync(definitions(options.settings)));
    scope.add("work", ctx.use("store").onWork(`schedule:${options.kind}`, loop.poke));
    scope.add("loop", loop.off);
    await turn(options.settings.enabled);
  } catch (error) {
    // It is tried again, with checks and listeners of its own.
    await scope.dispose();
    throw error;
  }

  return {
    /** Throws where a definition is wrong. */
    async apply(next: C): Promise<void> {
      const [problem] = entries.problems(definitions(next)).values();
      if (problem) throw problem;
      wrong.clear();
      await entries.sync(definitions(next));
      await turn(next.enabled);
    },
    async stop(): Promise<void> {
      const [error] = await scope.dispose();
      if (error) throw error;
    },
  };
}
