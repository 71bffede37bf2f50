/** The jobs in the store: add, find, change, remove, and those of the configuration. */
import { type PluginContext, PorticoError, type Principal } from "portico";
import { openPayload, sealPayload } from "portico/deliveries";
import { createScheduleEntries, unmaskedPayload, wantsEnabled } from "portico/schedules";
import { parseSchedule } from "portico/schedules";
import { checkPayload, declareHookEvent } from "./firing/payload.ts";
import { type Job, type JobBody, type JobState, KIND, nextSlot, toJob } from "./job.ts";
import type { ConfiguredJob, JobChange, NewJob } from "./schema.ts";

export interface JobsOptions {
  ctx: PluginContext;
  zone(): string;
  /** Due times may have moved. */
  changed(): void;
}
export type Jobs = ReturnType<typeof createJobs>;

/** What a job may have or not. */
export const SETTINGS = [
  "description",
  "missed",
  "overlap",
  "timeoutMs",
  "graceMs",
  "jitterMs",
  "maxErrors",
  "deleteAfterRun",
] as const;

/** No zone moves by more at once, but over the date line. */
const ZONE_CHANGE_MS = 3 * 3_600_000;

export function createJobs({ ctx, zone, changed }: JobsOptions) {
  const store = () => ctx.use("store");

  function bodyOf(
    given: ConfiguredJob,
    made: Pick<JobBody, "source" | "principal">,
    now: number,
    before?: JobBody,
  ): JobBody {
    const body: JobBody = {
      schedule: parseSchedule(given.schedule, now, zone()),
      payload: unmaskedPayload(given.payload, before && openPayload(ctx, before.payload)),
      missed: given.missed ?? "skip",
      overlap: given.overlap ?? "skip",
      ...made,
      anchorMs: now,
    };
    for (const key of SETTINGS)
      if (given[key] !== undefined) Object.assign(body, { [key]: given[key] });
    checkPayload(ctx, body.payload);
    if (body.payload.kind === "hook") declareHookEvent(ctx, body.payload.event);
    return { ...body, payload: sealPayload(ctx, body.payload) };
  }

  const entries = createScheduleEntries<ConfiguredJob, Job>({
    store,
    kind: KIND,
    noun: "cron job",
    listedBy: "portico cron list",
    section: "cron.jobs",
    read: toJob,
    isConfigured: (body) => body.source === "config",
    bodyOf: (given, anchorMs) => bodyOf(given, { source: "config" }, anchorMs),
    place({ entry: job, id, body, enabled, now }) {
      const sameDates =
        job &&
        JSON.stringify(job.body.schedule) === JSON.stringify(body.schedule) &&
        job.row.enabled === enabled;
      // A date of the configuration that has passed is no error: the job stays there, disabled.
      const slot = sameDates ? undefined : nextSlot(id, body, now);
      const state: JobState = job?.state ?? { consecutiveErrors: 0, fired: 0 };
      if (slot)
        Object.assign(state, {
          slotAt: slot.slotAt,
          consecutiveErrors: 0,
          disabledReason: undefined,
        });
      const slotNextAt = enabled ? (slot?.nextAt ?? null) : null;
      const nextAt = sameDates ? job.row.nextAt : slotNextAt;
      return { enabled: enabled && nextAt !== null, nextAt, state };
    },
    changed,
  });

  /** Refuses what would never run again. */
  function slotFor(
    id: string,
    body: JobBody,
    now: number,
    param: string,
  ): { slotAt: number; nextAt: number } {
    const slot = nextSlot(id, body, now);
    if (slot) return slot;
    throw new PorticoError(
      "invalid_request_error",
      "The date lies in the past: give one that is still to come.",
      {
        param,
      },
    );
  }

  const add = (given: NewJob, source: "api" | "agent", principal: Principal): Promise<Job> =>
    entries.add("job", given.name, (id, now) => {
      const body = bodyOf(given, { source, principal }, now);
      const { slotAt, nextAt } = slotFor(id, body, now, "schedule.at");
      const enabled = wantsEnabled(given, true);
      const state: JobState = { slotAt, consecutiveErrors: 0, fired: 0 };
      return { enabled, nextAt: enabled ? nextAt : null, body, state };
    });

  const change = (idOrName: string, given: JobChange, allowConfigured = false): Promise<Job> =>
    entries.change(idOrName, (job, now) => {
      if (!allowConfigured) entries.refuseConfigured(job);
      const { anchorMs, source, principal, ...before } = job.body;
      const moved = given.schedule !== undefined;
      // After a change by somebody else it still acts for its creator.
      const made = principal === undefined ? { source } : { source, principal };
      const body = bodyOf({ ...before, ...given } as ConfiguredJob, made, now, job.body);
      if (!moved) Object.assign(body, { schedule: job.body.schedule, anchorMs });
      const enabled = wantsEnabled(given, job.row.enabled);
      const revived = enabled && !job.row.enabled;
      const state: JobState = { ...job.state };
      if (revived) Object.assign(state, { consecutiveErrors: 0, disabledReason: undefined });
      let nextAt = enabled ? job.row.nextAt : null;
      if (enabled && (revived || moved || given.jitterMs !== undefined || nextAt === null)) {
        const slot = slotFor(job.row.id, body, now, "schedule.at");
        nextAt = slot.nextAt;
        state.slotAt = slot.slotAt;
      }
      return { name: given.name, enabled, nextAt, body, state };
    });

  /** Sets a job to another slot, unless the one it waits for was taken meanwhile. */
  async function move(
    { row, state }: Job,
    { slotAt, nextAt }: { slotAt: number; nextAt: number },
  ): Promise<void> {
    await store().tick({
      kind: KIND,
      id: row.id,
      expectedNext: row.nextAt,
      next: nextAt,
      state: { ...state, slotAt },
    });
  }

  /**
   * Brings intervals back that lie further ahead than one interval: the clock went back after they were reckoned. Slots
   * of the other kinds are points in time that have been fired already, so they wait until the clock is there again.
   */
  async function rewindIntervals(now: number, all?: readonly Job[]): Promise<void> {
    for (const job of all ?? (await entries.list())) {
      const { row, body } = job;
      const { schedule } = body;
      if (!row.enabled || row.nextAt === null || schedule.kind !== "every") continue;
      if (row.nextAt <= now + schedule.everyMs + (body.jitterMs ?? 0)) continue;
      const slot = nextSlot(row.id, body, now);
      if (slot !== undefined) await move(job, slot);
    }
  }

  /**
   * Calculates the waiting slots again: the rules of a zone may have changed since they were (a newer Node brings newer
   * zone data). Moves of more than a few hours are none of that, and are left alone.
   */
  async function recalculateSlots(now: number): Promise<void> {
    for (const job of await entries.list()) {
      const { row, body, state } = job;
      if (!row.enabled || row.nextAt === null || body.schedule.kind !== "cron") continue;
      if (state.slotAt === undefined || state.slotAt <= now) continue;
      const slot = nextSlot(row.id, body, now);
      const moved = slot === undefined ? 0 : Math.abs(slot.slotAt - state.slotAt);
      if (slot === undefined || moved === 0 || moved > ZONE_CHANGE_MS) continue;
      await move(job, slot);
    }
  }

  return { ...entries, add, change, rewindIntervals, recalculateSlots };
}
