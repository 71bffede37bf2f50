/** Puts the parts together at the first use. */
import type { DueLoop, PluginContext } from "portico";
import { createBook } from "./book.ts";
import { createOperations, type Operations } from "./operations.ts";
import { KIND } from "./poll.ts";
import { createRunner } from "./runner.ts";
import type { PollsConfig } from "./schema.ts";

export interface Polls {
  operations: Operations;
  /** Takes a changed configuration; throws where a poll of it is wrong. */
  apply(next: PollsConfig): Promise<void>;
  stop(): Promise<void>;
}

export async function startPolls(ctx: PluginContext, settings: () => PollsConfig): Promise<Polls> {
  const store = () => ctx.use("store");
  const tools = await ctx.use("schedule").load();
  let loop: DueLoop | undefined;
  const changed = (): void => loop?.poke();
  const book = createBook({ ctx, tools, settings, changed });
  const runner = createRunner({ ctx, tools, settings });

  function run(): void {
    if (!settings().enabled || loop !== undefined) return;
    loop = tools.loop({
      now: () => store().now(),
      nextDueAt: () => store().schedules.nextDueAt(KIND),
      run: runner.runDue,
      wentBack: book.rewindIntervals,
      failed: (error) => ctx.log.error({ err: error }, "polls could not be looked up"),
    });
  }
  async function halt(): Promise<void> {
    const running = loop;
    loop = undefined;
    await running?.stop();
  }

  const wrong = book.problems(settings().entries);
  for (const error of wrong.values()) ctx.log.error(error.message);
  const undoReadiness = ctx.readiness(() => [...wrong.values()][0]?.message);
  await book.sync(settings().entries);
  await book.freeLeases();
  await book.rewindIntervals(store().now());
  const stopWatching = store().onWork(`schedule:${KIND}`, changed);
  run();

  return {
    operations: createOperations({ ctx, book, runner, settings }),
    async apply(next) {
      const [problem] = book.problems(next.entries).values();
      if (problem) throw problem;
      wrong.clear();
      await book.sync(next.entries);
      if (next.enabled) run();
      else await halt();
    },
    async stop() {
      stopWatching();
      await undoReadiness();
      await halt();
      await runner.idle();
    },
  };
}
