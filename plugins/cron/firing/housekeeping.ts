/**
 * The hourly pruning of histories: the one task of node-cron, since a run that is missed or comes twice does no harm here.
 * CONTRIBUTING.md says why croner computes all other dates.
 */
import { schedule } from "node-cron";
import type { PluginContext } from "portico";
import { KIND } from "../job.ts";

/** Starts to cut the histories of all jobs to their length, once an hour. Returns what stops it. */
export function startHousekeeping(ctx: PluginContext, keepRuns: () => number): () => Promise<void> {
  const task = schedule(
    "17 * * * *",
    async () => {
      try {
        const store = ctx.use("store");
        for (const { id } of await store.schedules.list(KIND))
          await store.runs.prune(`${KIND}:${id}`, keepRuns());
      } catch (error) {
        ctx.log.warn({ err: error }, "old runs of cron jobs could not be deleted");
      }
    },
    { noOverlap: true },
  );
  return async () => void (await task.destroy());
}
