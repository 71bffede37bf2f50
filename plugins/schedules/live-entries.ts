/** Keeps entries as the configuration has them, and their loop running for as long as the configuration lets it. */
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
  /** The kind in the store. */
  kind: string;
  entries: Pick<ScheduleEntries<G, E>, "problems" | "sync">;
  loop: LoopSwitch;
  settings: C;
  /** The definitions of a configuration, by name. */
  definitions(settings: C): Readonly<Record<string, G>>;
  /** Called between the first sync and the start of the loop, with all that there are. */
  prepare(all: readonly E[]): Promise<void>;
}

/**
 * Syncs the entries and starts their loop. Wrong definitions are logged and make the gateway not ready until they are
 * fixed. They keep no other change from being applied; one that brings further wrong ones is refused.
 */
export async function openLiveEntries<
  C extends { enabled: boolean },
  G extends EnabledOrNot,
  E extends ScheduleEntry,
>(options: LiveEntriesOptions<C, G, E>) {
  const { ctx, entries, loop, definitions } = options;

  async function turn(enabled: boolean): Promise<void> {
    if (enabled) loop.on();
    else await loop.off();
  }

  let wrong = entries.problems(definitions(options.settings));
  const isKnown = wrongAtStart(definitions(options.settings), (name) => wrong.has(name));
  const tellWrong = () => {
    for (const error of wrong.values()) ctx.log.error(error.message);
  };
  tellWrong();
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
    /** Throws where a definition is wrong that was not so, word for word, at the start. */
    async apply(next: C): Promise<void> {
      const problems = entries.problems(definitions(next));
      for (const [name, problem] of problems)
        if (!isKnown(name, definitions(next)[name])) throw problem;
      wrong = problems;
      tellWrong();
      await entries.sync(definitions(next));
      await turn(next.enabled);
    },
    async stop(): Promise<void> {
      const [error] = await scope.dispose();
      if (error) throw error;
    },
  };
}
