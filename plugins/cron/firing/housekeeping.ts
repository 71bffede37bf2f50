/**
 * Prunes the histories of jobs every hour. This is the only task of node-cron, because a missed or repeated run does no
 * harm here. CONTRIBUTING.md explains why croner computes all other dates.
 */
import { schedule } from "node-cron";
import type { PluginContext } from "portico";
import { KIND } from "../job.ts";

/** Starts to prune the histories of all jobs once an hour. Returns a function that stops it. */
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
