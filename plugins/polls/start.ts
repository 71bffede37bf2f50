/** Puts the parts together at the first use. */
import type { PluginContext } from "portico";
import { createLoopSwitch, type LateStarted, openLiveEntries } from "portico/schedules";
import { createPollEntries } from "./entries.ts";
import { createOperations, type Operations } from "./operations.ts";
import { KIND } from "./poll.ts";
import { startHooks } from "./checking/hooks.ts";
import { createRunner } from "./checking/runner.ts";
import type { PollsConfig } from "./schema.ts";

export interface Polls extends LateStarted<PollsConfig> {
  operations: Operations;
}

export async function startPolls(ctx: PluginContext, settings: () => PollsConfig): Promise<Polls> {
  const tools = await ctx.use("schedule").load();
  const loop = createLoopSwitch({
    ctx,
    kind: KIND,
    start: tools.loop,
    work: () => ({ run: runner.runDue, wentBack: entries.rewindIntervals }),
  });
  const entries = createPollEntries({ ctx, tools, settings, changed: loop.poke });
  const runner = createRunner({ ctx, tools, settings });

  const live = await openLiveEntries({
    ctx,
    kind: KIND,
    entries,
    loop,
    settings: settings(),
    definitions: ({ entries }) => entries,
    async prepare(all) {
      for (const { body } of all)
        if (body.payload.kind === "hook") tools.declareHookEvent(body.payload.event);
      const freed = await entries.freeLeases(all);
      await entries.rewindIntervals(ctx.use("store").now(), freed === 0 ? all : undefined);
    },
  });
  const hooks = startHooks(ctx);

  return {
    operations: createOperations({ ctx, entries, runner }),
    apply: live.apply,
    async stop() {
      await live.stop();
      await runner.idle();
      await hooks.stop();
    },
  };
}
