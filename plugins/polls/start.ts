/** Puts the parts together at the first use. */
import type { PluginContext } from "portico";
import { createLoopSwitch, type LateParts, openLiveBook } from "portico/cron";
import { createBook } from "./book.ts";
import { createOperations, type Operations } from "./operations.ts";
import { KIND } from "./poll.ts";
import { startHooks } from "./checking/hooks.ts";
import { createRunner } from "./checking/runner.ts";
import type { PollsConfig } from "./schema.ts";

export interface Polls extends LateParts<PollsConfig> {
  operations: Operations;
}

export async function startPolls(ctx: PluginContext, settings: () => PollsConfig): Promise<Polls> {
  const store = () => ctx.use("store");
  const tools = await ctx.use("schedule").load();
  const loop = createLoopSwitch(() =>
    tools.loop({
      now: () => store().now(),
      nextDueAt: () => store().schedules.nextDueAt(KIND),
      run: runner.runDue,
      wentBack: book.rewindIntervals,
      failed: (error) => ctx.log.error({ err: error }, "polls could not be looked up"),
    }),
  );
  const book = createBook({ ctx, tools, settings, changed: loop.poke });
  const runner = createRunner({ ctx, tools, settings });

  const live = await openLiveBook({
    ctx,
    kind: KIND,
    book,
    loop,
    settings: settings(),
    definitions: ({ entries }) => entries,
    async prepare() {
      for (const { body } of await book.list())
        if (body.payload.kind === "hook") tools.declareHookEvent(body.payload.event);
      await book.freeLeases();
      await book.rewindIntervals(store().now());
    },
  });
  const hooks = startHooks(ctx);

  return {
    operations: createOperations({ ctx, book, runner }),
    apply: live.apply,
    async stop() {
      await live.stop();
      await runner.idle();
      await hooks.stop();
    },
  };
}
