/** Creates the parts of polls after the gateway's start or at the first use. */
import type { PluginContext } from "portico";
import { sealStoredPayloads } from "portico/deliveries";
import { createLoopSwitch, type LateStarted, openLiveEntries } from "portico/schedules";
import { PollEntries } from "./entries.ts";
import { Operations } from "./operations.ts";
import { KIND } from "./poll.ts";
import { startHooks } from "./checking/hooks.ts";
import { PollRunner } from "./checking/runner.ts";
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
    work: () => ({
      run: (now) => runner.runDue(now),
      wentBack: (now) => entries.rewindIntervals(now),
    }),
  });
  const entries = new PollEntries({ ctx, tools, settings, changed: loop.poke });
  const runner = new PollRunner({ ctx, tools, settings });

  const live = await openLiveEntries({
    ctx,
    kind: KIND,
    entries: entries.schedules,
    loop,
    settings: settings(),
    definitions: ({ entries }) => entries,
    async prepare(all) {
      for (const { body } of all)
        if (body.payload.kind === "hook") tools.declareHookEvent(body.payload.event);
      const freedCount = await entries.freeLeases(all);
      await entries.rewindIntervals(ctx.use("store").now(), freedCount === 0 ? all : undefined);
      await sealStoredPayloads(ctx, all, entries.schedules);
    },
  });
  const hooks = startHooks(ctx);

  return {
    operations: new Operations({ ctx, entries, runner }),
    apply: live.apply,
    async stop() {
      await live.stop();
      await runner.idle();
      await hooks.stop();
    },
  };
}
