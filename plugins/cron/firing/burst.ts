/**
 * Writing a thousand slots that are due at the same time takes longer than a tenth of a second. The slots of such a burst
 * are therefore taken shortly before it, as queue items that begin at its time.
 */
import type { PluginContext } from "portico";
import type { Schedule } from "portico/store";
import { type Job, KIND, nextSlot, toJob } from "../job.ts";

const MAX_SLOTS = 5_000;
/** A burst is at least this many slots within `BURST_WIDTH_MS`. They are taken `BURST_LEAD_MS` before it. */
const BURST_SIZE = 100;
const BURST_WIDTH_MS = 200;
const BURST_LEAD_MS = 750;

/** Runs a function at a time of the store's clock, unless the plugin is unloaded before. */
export function atTime(ctx: PluginContext, time: number, work: () => Promise<unknown>): void {
  const start = (): void => {
    if (ctx.signal.aborted) return;
    work().catch((error: unknown) =>
      ctx.log.error({ err: error }, "a due cron job could not be processed"),
    );
  };
  setTimeout(start, Math.max(0, time - ctx.use("store").now())).unref();
}

/** Returns a function that looks ahead for bursts, and fires their slots ahead of time. */
export function createForesight(ctx: PluginContext, fireAhead: (job: Job) => Promise<unknown>) {
  const store = () => ctx.use("store");

  /** Takes the slots of a burst, except those of hooks, which cannot wait as queue items. */
  async function takeBurst(until: number): Promise<void> {
    const now = store().now();
    const jobs = (await store().schedules.due(KIND, until, MAX_SLOTS)).map(toJob);
    const eligibleJobs = jobs.filter(
      ({ row, body, state }) =>
        row.nextAt! > now &&
        body.payload.kind !== "hook" &&
        body.deleteAfterRun !== true &&
        state.running.length === 0,
    );
    await Promise.all(eligibleJobs.map(fireAhead));
  }

  /** Computes the next dates of the jobs in advance, so that they are cached when the burst comes. */
  async function precomputeNextSlots(rows: readonly Schedule[]): Promise<void> {
    for (const [i, row] of rows.entries()) {
      if (i % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
      const { state, body } = toJob(row);
      nextSlot(row.id, body, state.slotAt ?? row.nextAt!);
    }
  }

  return async (until: number): Promise<void> => {
    const upcomingRows = await store().schedules.due(KIND, until, MAX_SLOTS);
    if (upcomingRows.length < BURST_SIZE) return;
    await precomputeNextSlots(upcomingRows);
    const now = store().now();
    const times = upcomingRows
      .map(({ nextAt }) => nextAt!)
      .filter((time) => time > now + BURST_LEAD_MS);
    for (let i = 0; i + BURST_SIZE <= times.length; ) {
      // The rows are sorted by time, so the slots of a burst are adjacent.
      let end = i;
      while (end < times.length && times[end]! - times[i]! <= BURST_WIDTH_MS) end++;
      const last = times[end - 1]!;
      if (end - i >= BURST_SIZE) atTime(ctx, times[i]! - BURST_LEAD_MS, () => takeBurst(last));
      i = end;
    }
  };
}
