/** The jobs in the store: add, find, change, remove, and those of the configuration. */
import type { PluginContext, Principal } from "portico";
import { openPayload, sealPayload, sealStoredPayloads } from "portico/deliveries";
import {
  createScheduleEntries,
  type Definition,
  parseSchedule,
  type ScheduleEntries,
  unmaskedPayload,
  wantsEnabled,
} from "portico/schedules";
import { errors } from "./errors.ts";
import { checkPayload, declareHookEvent } from "./firing/payload.ts";
import { type Job, type JobBody, type JobState, KIND, nextSlot, type Slot, toJob } from "./job.ts";
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

/** The stored form of a definition, with who made it. Throws where it is wrong. */
type MakeBody = (
  definition: ConfiguredJob,
  maker: Pick<JobBody, "source" | "principal">,
  now: number,
  before?: JobBody,
) => JobBody;

type Entries = ScheduleEntries<ConfiguredJob, Job>;

/** The entries of the store, and beside them what only jobs have. */
export function createJobs({ ctx, zone, changed }: JobsOptions) {
  const makeBody: MakeBody = (definition, maker, now, before) =>
    bodyOf(ctx, zone(), { definition, maker, now, before });
  const entries = createScheduleEntries<ConfiguredJob, Job>({
    store: () => ctx.use("store"),
    kind: KIND,
    noun: "cron job",
    listedBy: "portico cron list",
    section: "cron.jobs",
    read: toJob,
    isConfigured: (body) => body.source === "config",
    bodyOf: (definition, anchorMs) => makeBody(definition, { source: "config" }, anchorMs),
    place: placeConfigured,
    changed,
  });
  const { add, change } = new JobEditor(entries, makeBody);
  const { rewindIntervals, recalculateSlots } = new SlotRepair(ctx, entries);
  const sealStored = (all: readonly Job[]) => sealStoredPayloads(ctx, all, entries);
  return { ...entries, add, change, rewindIntervals, recalculateSlots, sealStored };
}

function bodyOf(
  ctx: PluginContext,
  zone: string,
  job: {
    definition: ConfiguredJob;
    maker: Pick<JobBody, "source" | "principal">;
    now: number;
    before: JobBody | undefined;
  },
): JobBody {
  const { definition, maker, now, before } = job;
  const schedule = parseSchedule(definition.schedule, now, zone);
  const readBefore = () => before && openPayload(ctx, before.payload);
  const payload = unmaskedPayload(definition.payload, readBefore);
  const body: JobBody = {
    schedule,
    payload,
    missed: definition.missed ?? "skip",
    overlap: definition.overlap ?? "skip",
    ...maker,
    anchorMs: now,
  };
  for (const key of SETTINGS)
    if (definition[key] !== undefined) Object.assign(body, { [key]: definition[key] });
  checkPayload(ctx, payload);
  if (payload.kind === "hook") declareHookEvent(ctx, payload.event);
  return { ...body, payload: sealPayload(ctx, payload) };
}

/** A job of the configuration whose date has passed is no error: it stays there, disabled. */
function placeConfigured({ entry: job, id, body, enabled, now }: Definition<Job>) {
  const state: JobState = job?.state ?? { consecutiveErrors: 0, fired: 0 };
  if (job !== undefined && hasSameDates(job, body, enabled)) {
    const { nextAt } = job.row;
    return { enabled: enabled && nextAt !== null, nextAt, state };
  }
  const slot = nextSlot(id, body, now);
  if (slot === undefined) return { enabled: false, nextAt: null, state };
  Object.assign(state, { slotAt: slot.slotAt, consecutiveErrors: 0, disabledReason: undefined });
  return { enabled, nextAt: enabled ? slot.nextAt : null, state };
}

function hasSameDates(job: Job, body: JobBody, enabled: boolean): boolean {
  const isSameSchedule = JSON.stringify(job.body.schedule) === JSON.stringify(body.schedule);
  return isSameSchedule && job.row.enabled === enabled;
}

/** Refuses a job that would never run again. */
function slotFor(id: string, body: JobBody, now: number): Slot {
  const slot = nextSlot(id, body, now);
  if (slot === undefined) throw errors.datePast({ param: "schedule.at" });
  return slot;
}

/** Adds and changes jobs, for the API and the agent. */
class JobEditor {
  readonly #entries: Entries;
  readonly #makeBody: MakeBody;

  constructor(entries: Entries, makeBody: MakeBody) {
    this.#entries = entries;
    this.#makeBody = makeBody;
  }

  readonly add = (job: NewJob, source: "api" | "agent", principal: Principal): Promise<Job> =>
    this.#entries.add("job", job.name, (id, now) => {
      const body = this.#makeBody(job, { source, principal }, now);
      const { slotAt, nextAt } = slotFor(id, body, now);
      const enabled = wantsEnabled(job, true);
      const state: JobState = { slotAt, consecutiveErrors: 0, fired: 0 };
      return { enabled, nextAt: enabled ? nextAt : null, body, state };
    });

  readonly change = (idOrName: string, change: JobChange, allowConfigured = false): Promise<Job> =>
    this.#entries.change(idOrName, (job, now) => {
      if (!allowConfigured) this.#entries.refuseConfigured(job);
      const body = this.#changedBody(job, change, now);
      const enabled = wantsEnabled(change, job.row.enabled);
      const placed = placeChanged(job, change, { body, enabled, now });
      return { name: change.name, enabled, body, ...placed };
    });

  #changedBody(job: Job, change: JobChange, now: number): JobBody {
    const { anchorMs, source, principal, ...before } = job.body;
    // After a change by another principal it still acts for its creator.
    const maker = principal === undefined ? { source } : { source, principal };
    const definition = { ...before, ...change } as ConfiguredJob;
    const body = this.#makeBody(definition, maker, now, job.body);
    if (change.schedule !== undefined) return body;
    return { ...body, schedule: job.body.schedule, anchorMs };
  }
}

/** When a changed job comes due: as before, unless the change moves its dates or enables it again. */
function placeChanged(
  { row, state: before }: Job,
  change: JobChange,
  { body, enabled, now }: { body: JobBody; enabled: boolean; now: number },
): { nextAt: number | null; state: JobState } {
  const state: JobState = { ...before };
  if (!enabled) return { nextAt: null, state };
  const isRevived = !row.enabled;
  if (isRevived) Object.assign(state, { consecutiveErrors: 0, disabledReason: undefined });
  const isMoved = change.schedule !== undefined || change.jitterMs !== undefined;
  if (!isRevived && !isMoved && row.nextAt !== null) return { nextAt: row.nextAt, state };
  const { slotAt, nextAt } = slotFor(row.id, body, now);
  return { nextAt, state: { ...state, slotAt } };
}

/** Calculates slots again that a clock or a time zone has made wrong. */
class SlotRepair {
  readonly #ctx: PluginContext;
  readonly #entries: Entries;

  constructor(ctx: PluginContext, entries: Entries) {
    this.#ctx = ctx;
    this.#entries = entries;
  }

  /**
   * Brings intervals back that lie further ahead than one interval, because the clock went back after they were
   * calculated. Slots of the other kinds are points in time that have been fired already, so they wait until the clock
   * is there again.
   */
  readonly rewindIntervals = async (now: number, all?: readonly Job[]): Promise<void> => {
    for (const job of all ?? (await this.#entries.list())) {
      const slot = isTooFarAhead(job, now) ? nextSlot(job.row.id, job.body, now) : undefined;
      if (slot !== undefined) await this.#move(job, slot);
    }
  };

  /** Calculates the waiting slots again, because a newer Node brings newer rules of the time zones. */
  readonly recalculateSlots = async (now: number): Promise<void> => {
    for (const job of await this.#entries.list()) {
      const slot = movedSlot(job, now);
      if (slot !== undefined) await this.#move(job, slot);
    }
  };

  /** Sets a job to another slot, unless the one it waits for was taken meanwhile. */
  async #move({ row, state }: Job, { slotAt, nextAt }: Slot): Promise<void> {
    await this.#ctx.use("store").tick({
      kind: KIND,
      id: row.id,
      expectedNext: row.nextAt,
      next: nextAt,
      state: { ...state, slotAt },
    });
  }
}

function isTooFarAhead({ row, body }: Job, now: number): boolean {
  const { schedule } = body;
  if (!row.enabled || row.nextAt === null || schedule.kind !== "every") return false;
  return row.nextAt > now + schedule.everyMs + (body.jitterMs ?? 0);
}

/** No zone moves by more at once, but over the date line. */
const ZONE_CHANGE_MS = 3 * 3_600_000;

/** The slot of a job whose zone has other rules now. A move of more than a few hours has another cause. */
function movedSlot({ row, body, state }: Job, now: number): Slot | undefined {
  if (!row.enabled || row.nextAt === null || body.schedule.kind !== "cron") return undefined;
  if (state.slotAt === undefined || state.slotAt <= now) return undefined;
  const slot = nextSlot(row.id, body, now);
  if (slot === undefined) return undefined;
  const distance = Math.abs(slot.slotAt - state.slotAt);
  return distance > 0 && distance <= ZONE_CHANGE_MS ? slot : undefined;
}
