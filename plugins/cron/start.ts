/** Creates the parts of cron after the gateway's start or at the first use, so that they do not delay the start. */
import type { PluginContext } from "portico";
import { createLoopSwitch, type LateStarted, openLiveEntries } from "portico/schedules";
import { createJobs } from "./jobs.ts";
import { KIND } from "./job.ts";
import { startDueTimer } from "portico/schedules";
import { declareHookEvent } from "./firing/payload.ts";
import { createOperations, type Operations } from "./operations.ts";
import { createRunner } from "./firing/runner.ts";
import type { CronConfig } from "./schema.ts";
import { createSettler } from "./firing/settle.ts";

const SWEEP_MS = 30_000;

export interface Cron extends LateStarted<CronConfig> {
  operations: Operations;
}

export async function startCron(
  ctx: PluginContext,
  settings: () => CronConfig,
  zone: () => string,
): Promise<Cron> {
  const store = () => ctx.use("store");
  const loop = createLoopSwitch({
    ctx,
    kind: KIND,
    start: startDueTimer,
    work: () => ({ run: runner.runDue, foresee: runner.foresee, wentBack: jobs.rewindIntervals }),
  });
  const jobs = createJobs({ ctx, zone, changed: loop.poke });
  const settler = createSettler({
    ctx,
    maxErrors: () => settings().maxErrors,
    keepRuns: () => settings().keepRuns,
    drop: jobs.drop,
  });
  const runner = createRunner({ ctx, settler });

  const live = await openLiveEntries({
    ctx,
    kind: KIND,
    entries: jobs,
    loop,
    settings: settings(),
    definitions: ({ jobs }) => jobs,
    async prepare(all) {
      for (const { body } of all)
        if (body.payload.kind === "hook") declareHookEvent(ctx, body.payload.event);
      await jobs.rewindIntervals(store().now(), all);
      await jobs.sealStored(all);
      const zoneData = process.versions["tz"] ?? "unknown";
      if ((await store().kv.get("cron", "zoneData")) === zoneData) return;
      await jobs.recalculateSlots(store().now());
      await store().kv.set("cron", "zoneData", zoneData);
    },
  });

  const logErrors = (work: () => Promise<void>) => () =>
    work().catch((error: unknown) =>
      ctx.log.warn({ err: error }, "the unfinished cron runs could not be checked"),
    );
  const sweep = logErrors(settler.sweep);
  const sweeper = setInterval(sweep, SWEEP_MS).unref();
  const undoEvents = (["agent:completed", "agent:failed"] as const).map((name) =>
    ctx.on(name, ({ context }) => settler.settleTurn(context.turnId), { timeoutMs: 30_000 }),
  );
  void sweep();

  return {
    operations: createOperations({ ctx, jobs, runner }),
    apply: live.apply,
    async stop() {
      clearInterval(sweeper);
      for (const undo of undoEvents) await undo();
      await live.stop();
    },
  };
}
