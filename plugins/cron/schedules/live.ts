/** Keeps a book as the configuration has it, and its loop running for as long as the configuration lets it. */
import { type PluginContext, Scope } from "portico";
import type { createScheduleBook, EnabledOrNot, ScheduleEntry } from "./book.ts";

/** Wakes at due times. */
export interface DueLoop {
  /** Looks again now: something was added or changed. */
  poke(): void;
  stop(): Promise<void>;
}
export type LoopSwitch = ReturnType<typeof createLoopSwitch>;

/** A loop that can be switched on and off, and poked whichever it is. */
export function createLoopSwitch(open: () => DueLoop) {
  let loop: DueLoop | undefined;
  return {
    poke: (): void => loop?.poke(),
    on(): void {
      loop ??= open();
    },
    async off(): Promise<void> {
      const running = loop;
      loop = undefined;
      await running?.stop();
    },
  };
}

export interface LiveBookOptions<C extends { enabled: boolean }, G extends EnabledOrNot, E extends ScheduleEntry> {
  ctx: PluginContext;
  /** The kind in the store. */
  kind: string;
  book: Pick<ReturnType<typeof createScheduleBook<G, E>>, "problems" | "sync">;
  loop: LoopSwitch;
  settings: C;
  /** The definitions of a configuration, by name. */
  definitions(settings: C): Readonly<Record<string, G>>;
  /** Called between the first sync and the start of the loop. */
  prepare(): Promise<void>;
}

/**
 * Syncs the book and starts its loop. Wrong definitions are logged and make the gateway not ready until a configuration
 * without any is applied; one that has some is refused.
 */
export async function openLiveBook<C extends { enabled: boolean }, G extends EnabledOrNot, E extends ScheduleEntry>(
  options: LiveBookOptions<C, G, E>,
) {
  const { ctx, book, loop, definitions } = options;

  async function turn(enabled: boolean): Promise<void> {
    if (enabled) loop.on();
    else await loop.off();
  }

  const wrong = book.problems(definitions(options.settings));
  for (const error of wrong.values()) ctx.log.error(error.message);
  const scope = new Scope();
  try {
    scope.add(
      "readiness",
      ctx.readiness(() => [...wrong.values()][0]?.message),
    );
    await book.sync(definitions(options.settings));
    await options.prepare();
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
      const [problem] = book.problems(definitions(next)).values();
      if (problem) throw problem;
      wrong.clear();
      await book.sync(definitions(next));
      await turn(next.enabled);
    },
    async stop(): Promise<void> {
      const [error] = await scope.dispose();
      if (error) throw error;
    },
  };
}
