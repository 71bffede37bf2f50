/** The only importer of node-cron: the hourly tidying up, where a missed or doubled run does no harm. */
import { schedule } from "node-cron";
import type { PluginContext } from "portico";
import { KIND } from "../job.ts";

/** Cuts the histories of all jobs to their length, once an hour. Answers its undo. */
export function startHousekeeping(ctx: PluginContext, keepRuns: () => number): () => Promise<void> {
  const task = schedule(
    "17 * * * *",
    async () => {
      try {
        const store = ctx.use("store");
        for (const { id } of await store.schedules.list(KIND))
          await store.runs.prune(`${KIND}:${id}`, keepRuns());
      } catch (error) {
        ctx.log.warn({ err: error }, "histories of cron jobs could not be cut");
      }
    },
    { noOverlap: true },
  );
  return async () => void (await task.destroy());
}
