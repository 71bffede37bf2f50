/** The jobs in the store: adds, finds, changes and removes them, and syncs those of the configuration. */
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
import {
  dueTimeAfterChange,
  type Job,
  type JobBody,
  type JobState,
  KIND,
  NEW_STATE,
  nextSlot,
  type Slot,
  toJob,
} from "./job.ts";
import type { ConfiguredJob, JobChange, NewJob } from "./schema.ts";

export interface JobsOptions {
  ctx: PluginContext;
  zone(): string;
  /** Called after each change, because due times may have moved. */
  changed(): void;
}
export type Jobs = ReturnType<typeof createJobs>;

/** The optional members of a job. */
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

/** Converts a definition and its creator to the stored form. Throws for an invalid definition. */
type MakeBody = (
  definition: ConfiguredJob,
  creator: Pick<JobBody, "source" | "principal">,
  now: number,
  before?: JobBody,
) => JobBody;

type Entries = ScheduleEntries<ConfiguredJob, Job>;

/** Creates the access to the jobs: the operations of all schedules, and those that only jobs have. */
export function createJobs({ ctx, zone, changed }: JobsOptions) {
  const makeBody: MakeBody = (definition, creator, now, before) =>
    bodyOf(ctx, zone(), { definition, creator, now, before });
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
    creator: Pick<JobBody, "source" | "principal">;
    now: number;
    before: JobBody | undefined;
  },
): JobBody {
  const { definition, creator, now, before } = job;
  const schedule = parseSchedule(definition.schedule, now, zone);
  const readBefore = () => before && openPayload(ctx, before.payload);
  const payload = unmaskedPayload(definition.payload, readBefore);
  const body: JobBody = {
    schedule,
    payload,
    missed: definition.missed ?? "skip",
    overlap: definition.overlap ?? "skip",
    ...creator,
    anchorMs: now,
  };
  for (const key of SETTINGS)
    if (definition[key] !== undefined) Object.assign(body, { [key]: definition[key] });
  checkPayload(ctx, payload);
  if (payload.kind === "hook") declareHookEvent(ctx, payload.event);
  return { ...body, payload: sealPayload(ctx, payload) };
}

/** A job of the configuration whose date has passed is not an error. It stays in the list, disabled. */
function placeConfigured({ entry: job, id, body, enabled, now }: Definition<Job>) {
  const state: JobState = { ...(job?.state ?? NEW_STATE) };
  if (job !== undefined && hasSameDates(job, body, enabled)) {
    const nextAt = dueTimeAfterChange(job, body, now);
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

/** Returns the next slot. Throws 400 for a job that would never run again. */
function requireSlot(id: string, body: JobBody, now: number): Slot {
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
      const { slotAt, nextAt } = requireSlot(id, body, now);
      const enabled = wantsEnabled(job, true);
      const state: JobState = { ...NEW_STATE, slotAt };
      return { enabled, nextAt: enabled ? nextAt : null, body, state };
    });

  readonly change = (idOrName: string, change: JobChange, allowConfigured = false): Promise<Job> =>
    this.#entries.change(idOrName, (job, now) => {
      if (!allowConfigured) this.#entries.refuseConfigured(job);
      const body = this.#changedBody(job, change, now);
      const enabled = wantsEnabled(change, job.row.enabled);
      const placement = placeChanged(job, change, { body, enabled, now });
      return { name: change.name, enabled, body, ...placement };
    });

  #changedBody(job: Job, change: JobChange, now: number): JobBody {
    const { anchorMs, source, principal, ...before } = job.body;
    // After a change by another principal, the job still acts for its creator.
    const creator = principal === undefined ? { source } : { source, principal };
    const definition = { ...before, ...change } as ConfiguredJob;
    const body = this.#makeBody(definition, creator, now, job.body);
    if (change.schedule !== undefined) return body;
    return { ...body, schedule: job.body.schedule, anchorMs };
  }
}

/**
 * Returns the due time of a changed job. It stays the same unless the change moves the dates or enables the job again.
 */
function placeChanged(
  job: Job,
  change: JobChange,
  { body, enabled, now }: { body: JobBody; enabled: boolean; now: number },
): { nextAt: number | null; state: JobState } {
  const { row } = job;
  const state: JobState = { ...job.state };
  if (!enabled) return { nextAt: null, state };
  const isReenabled = !row.enabled;
  if (isReenabled) Object.assign(state, { consecutiveErrors: 0, disabledReason: undefined });
  const isMoved = change.schedule !== undefined;
  if (!isReenabled && !isMoved && row.nextAt !== null)
    return { nextAt: dueTimeAfterChange(job, body, now), state };
  const { slotAt, nextAt } = requireSlot(row.id, body, now);
  return { nextAt, state: { ...state, slotAt } };
}

/** Recomputes slots that a step of the clock or a change of a time zone has invalidated. */
class SlotRepair {
  readonly #ctx: PluginContext;
  readonly #entries: Entries;

  constructor(ctx: PluginContext, entries: Entries) {
    this.#ctx = ctx;
    this.#entries = entries;
  }

  /**
   * Moves slots of intervals that are more than one interval ahead, because the clock went back after they were computed.
   * The dates of the other kinds are fixed and have been fired already, so they wait until the clock passes them again.
   */
  readonly rewindIntervals = async (now: number, all?: readonly Job[]): Promise<void> => {
    for (const job of all ?? (await this.#entries.list())) {
      const slot = isTooFarAhead(job, now) ? nextSlot(job.row.id, job.body, now) : undefined;
      if (slot !== undefined) await this.#move(job, slot);
    }
  };

  /** Recomputes the waiting slots, because a newer Node may have newer time zone rules. */
  readonly recalculateSlots = async (now: number): Promise<void> => {
    for (const job of await this.#entries.list()) {
      const slot = findMovedSlot(job, now);
      if (slot !== undefined) await this.#move(job, slot);
    }
  };

  /** Moves a job to another slot, unless the job changed in the meantime. */
  async #move({ row, state }: Job, { slotAt, nextAt }: Slot): Promise<void> {
    await this.#ctx.use("store").commitSchedule({
      kind: KIND,
      id: row.id,
      expectedRev: row.rev,
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

/** Zones never change by more at once, except across the date line. */
const ZONE_CHANGE_MS = 3 * 3_600_000;

/**
 * Returns the new slot of a job whose zone has new rules. A difference of more than a few hours has another cause and
 * is ignored.
 */
function findMovedSlot({ row, body, state }: Job, now: number): Slot | undefined {
  if (!row.enabled || row.nextAt === null || body.schedule.kind !== "cron") return undefined;
  if (state.slotAt === undefined || state.slotAt <= now) return undefined;
  const slot = nextSlot(row.id, body, now);
  if (slot === undefined) return undefined;
  const distance = Math.abs(slot.slotAt - state.slotAt);
  return distance > 0 && distance <= ZONE_CHANGE_MS ? slot : undefined;
}
