/**
 * A thousand slots of one moment take longer to write than a tenth of a second. So those of a burst are taken a little
 * before it, as work that begins at its time.
 */
import type { PluginContext } from "portico";
import type { Schedule } from "portico/store";
import { type Job, KIND, nextSlot, toJob } from "../job.ts";

const FORESEEN = 5_000;
/** How many slots within how long are a burst, and how long before it they are taken. */
const BURST = 100;
const BURST_WIDTH_MS = 200;
const BURST_LEAD_MS = 750;

/** Runs a function at a time of the store's clock, unless the plugin was unloaded by then. */
export function atTime(ctx: PluginContext, time: number, work: () => Promise<unknown>): void {
  const go = (): void => {
    if (ctx.signal.aborted) return;
    work().catch((error: unknown) => ctx.log.error({ err: error }, "cron could not continue"));
  };
  setTimeout(go, Math.max(0, time - ctx.use("store").now())).unref();
}

/** Looks ahead for bursts, and has each slot of them fired ahead of its time. */
export function createForesight(ctx: PluginContext, fireAhead: (job: Job) => Promise<unknown>) {
  const store = () => ctx.use("store");

  /** Hooks are not taken: they would have nowhere to wait. */
  async function takeBurst(until: number): Promise<void> {
    const now = store().now();
    const jobs = (await store().schedules.due(KIND, until, FORESEEN)).map(toJob);
    const simple = jobs.filter(
      ({ row, body, state }) =>
        row.nextAt! > now &&
        body.payload.kind !== "hook" &&
        body.deleteAfterRun !== true &&
        state.running === undefined,
    );
    await Promise.all(simple.map(fireAhead));
  }

  /** Reckons the dates that follow, which are then known when the burst comes. */
  async function reckon(rows: readonly Schedule[]): Promise<void> {
    for (const [i, row] of rows.entries()) {
      if (i % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
      const { state, body } = toJob(row);
      nextSlot(row.id, body, state.slotAt ?? row.nextAt!);
    }
  }

  return async (until: number): Promise<void> => {
    const soon = await store().schedules.due(KIND, until, FORESEEN);
    if (soon.length < BURST) return;
    await reckon(soon);
    const now = store().now();
    const times = soon.map(({ nextAt }) => nextAt!).filter((time) => time > now + BURST_LEAD_MS);
    for (let i = 0; i + BURST <= times.length; ) {
      // The slots of one moment, give or take: due is sorted by time.
      let end = i;
      while (end < times.length && times[end]! - times[i]! <= BURST_WIDTH_MS) end++;
      const last = times[end - 1]!;
      if (end - i >= BURST) atTime(ctx, times[i]! - BURST_LEAD_MS, () => takeBurst(last));
      i = end;
    }
  };
}
