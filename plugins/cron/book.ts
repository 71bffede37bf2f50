/** The jobs in the store: add, find, change, remove, and those of the configuration. */
import type { PluginContext } from "portico";
import { PorticoError } from "portico";
import { parseSchedule } from "./dates.ts";
import { type Job, type JobBody, type JobState, KIND, newJobId, nextSlot, toJob } from "./job.ts";
import type { ConfiguredJob, JobChange, NewJob } from "./schema.ts";

export interface BookOptions {
  ctx: PluginContext;
  zone(): string;
  /** Called after each change: due times may have moved. */
  changed(): void;
}
export type JobBook = ReturnType<typeof createBook>;

const SETTINGS = [
  "description",
  "missed",
  "overlap",
  "timeoutMs",
  "graceMs",
  "jitterMs",
  "maxErrors",
  "deleteAfterRun",
] as const;

/** True where enabled is asked for, by either of its two spellings. */
const wanted = (given: { status?: string; enabled?: boolean }, otherwise: boolean): boolean =>
  given.status !== undefined ? given.status === "enabled" : (given.enabled ?? otherwise);

/** No zone moves by more at once, but over the date line. */
const ZONE_CHANGE_MS = 3 * 3_600_000;

export function createBook({ ctx, zone, changed }: BookOptions) {
  const store = () => ctx.use("store");

  function bodyOf(given: ConfiguredJob, source: JobBody["source"], now: number): JobBody {
    const body: JobBody = {
      schedule: parseSchedule(given.schedule, now, zone()),
      payload: given.payload,
      missed: given.missed ?? "skip",
      overlap: given.overlap ?? "skip",
      source,
      anchorMs: now,
    };
    for (const key of SETTINGS) if (given[key] !== undefined) Object.assign(body, { [key]: given[key] });
    return body;
  }

  async function list(): Promise<Job[]> {
    return (await store().schedules.list(KIND)).map(toJob);
  }

  /** By id, or by a name that only one job has. Throws 404, or 409 where several have it. */
  async function find(idOrName: string): Promise<Job> {
    const row = await store().schedules.get(KIND, idOrName);
    if (row) return toJob(row);
    const named = (await list()).filter((job) => job.row.name === idOrName);
    if (named.length === 1) return named[0]!;
    if (named.length > 1) {
      const ids = named.map((job) => job.row.id).join(", ");
      throw new PorticoError("conflict", `Several jobs are named ${JSON.stringify(idOrName)}: use an id (${ids}).`);
    }
    throw new PorticoError(
      "not_found",
      `There is no cron job ${JSON.stringify(idOrName)}. List them with: portico cron list`,
    );
  }

  function refuseConfigured({ row, body }: Job): void {
    if (body.source !== "config") return;
    throw new PorticoError(
      "conflict",
      `The job ${JSON.stringify(row.name)} stands in the configuration (cron.jobs.${row.name}): change it there.`,
    );
  }

  /** Refuses what would never run again. */
  function slotFor(id: string, body: JobBody, now: number, param: string): { slotAt: number; nextAt: number } {
    const slot = nextSlot(id, body, now);
    if (slot) return slot;
    throw new PorticoError("invalid_request_error", "The date lies in the past: give one that is still to come.", {
      param,
    });
  }

  async function add(given: NewJob, source: "api" | "agent"): Promise<Job> {
    const now = store().now();
    const id = newJobId();
    const body = bodyOf(given, source, now);
    const slot = slotFor(id, body, now, "schedule.at");
    const enabled = wanted(given, true);
    const row = await store().schedules.put({
      kind: KIND,
      id,
      name: given.name ?? id,
      enabled,
      nextAt: enabled ? slot.nextAt : null,
      body,
      state: { slotAt: slot.slotAt, consecutiveErrors: 0, fired: 0 } satisfies JobState,
    });
    changed();
    return toJob(row!);
  }

  /** Retries while others move the job on: a slot may be taken at any moment. */
  async function change(idOrName: string, given: JobChange, allowConfigured = false): Promise<Job> {
    for (;;) {
      const job = await find(idOrName);
      if (!allowConfigured) refuseConfigured(job);
      const now = store().now();
      const { anchorMs, source, ...before } = job.body;
      const moved = given.schedule !== undefined;
      const body = bodyOf({ ...before, ...given } as ConfiguredJob, source, now);
      if (!moved) Object.assign(body, { schedule: job.body.schedule, anchorMs });
      const enabled = wanted(given, job.row.enabled);
      const revived = enabled && !job.row.enabled;
      const state: JobState = { ...job.state };
      if (revived) {
        state.consecutiveErrors = 0;
        delete state.disabledReason;
      }
      let nextAt = enabled ? job.row.nextAt : null;
      if (enabled && (revived || moved || given.jitterMs !== undefined || nextAt === null)) {
        const slot = slotFor(job.row.id, body, now, "schedule.at");
        nextAt = slot.nextAt;
        state.slotAt = slot.slotAt;
      }
      const { id } = job.row;
      const row = await store().schedules.put(
        { kind: KIND, id, name: given.name ?? job.row.name, enabled, nextAt, body, state },
        job.row.rev,
      );
      if (!row) continue;
      changed();
      return toJob(row);
    }
  }

  async function remove(idOrName: string): Promise<Job> {
    const job = await find(idOrName);
    refuseConfigured(job);
    await drop(job.row.id);
    return job;
  }

  async function drop(id: string): Promise<void> {
    await store().schedules.delete(KIND, id);
    await store().runs.prune(`${KIND}:${id}`, 0);
    changed();
  }

  /** What is wrong with jobs of the configuration, by name. */
  function problems(configured: Readonly<Record<string, ConfiguredJob>>): Map<string, PorticoError> {
    const found = new Map<string, PorticoError>();
    for (const [name, given] of Object.entries(configured)) {
      try {
        bodyOf(given, "config", store().now());
      } catch (cause) {
        const param = `cron.jobs.${name}`;
        const message = `${param}: ${(cause as Error).message}`;
        found.set(name, new PorticoError("invalid_request_error", message, { param, cause }));
      }
    }
    return found;
  }

  /**
   * Brings the store in line with `cron.jobs`. A job whose definition stayed keeps its due time and its history; one
   * whose definition is wrong stays as it was.
   */
  async function sync(configured: Readonly<Record<string, ConfiguredJob>>): Promise<void> {
    const now = store().now();
    const wrong = problems(configured);
    const known = new Map(
      (await list()).filter(({ body }) => body.source === "config").map((job) => [job.row.name, job]),
    );
    for (const [name, given] of Object.entries(configured)) {
      const job = known.get(name);
      known.delete(name);
      const id = job?.row.id ?? `config:${name}`;
      if (wrong.has(name)) continue;
      const body = bodyOf(given, "config", job?.body.anchorMs ?? now);
      const enabled = wanted(given, true);
      const definition = JSON.stringify([body, enabled]);
      if (job && definition === job.state.configured) continue;
      const sameDates =
        job && JSON.stringify(job.body.schedule) === JSON.stringify(body.schedule) && job.row.enabled === enabled;
      // A date of the configuration that has passed is no error: the job stays there, disabled.
      const slot = sameDates ? undefined : nextSlot(id, body, now);
      const state: JobState = { ...(job?.state ?? { consecutiveErrors: 0, fired: 0 }), configured: definition };
      if (slot) Object.assign(state, { slotAt: slot.slotAt, consecutiveErrors: 0, disabledReason: undefined });
      const nextAt = sameDates ? job.row.nextAt : enabled ? (slot?.nextAt ?? null) : null;
      await store().schedules.put({ kind: KIND, id, name, enabled: enabled && nextAt !== null, nextAt, body, state });
    }
    for (const gone of known.values()) await drop(gone.row.id);
    changed();
  }

  /**
   * Brings intervals back that lie further ahead than one interval: the clock went back after they were reckoned. Slots
   * of the other kinds are points in time that have been fired already, so they wait until the clock is there again.
   */
  async function rewindIntervals(now: number): Promise<void> {
    for (const { row, body, state } of await list()) {
      const { schedule } = body;
      if (!row.enabled || row.nextAt === null || schedule.kind !== "every") continue;
      if (row.nextAt <= now + schedule.everyMs + (body.jitterMs ?? 0)) continue;
      const slot = nextSlot(row.id, body, now);
      if (slot === undefined) continue;
      const { slotAt, nextAt } = slot;
      await store().tick({
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: nextAt,
        state: { ...state, slotAt },
      });
    }
  }

  /**
   * Reckons the waiting slots anew: the rules of a zone may have changed since they were (a newer Node brings newer
   * zone data). Moves of more than a few hours are none of that, and are left alone.
   */
  async function rereckon(now: number): Promise<void> {
    for (const { row, body, state } of await list()) {
      if (!row.enabled || row.nextAt === null || body.schedule.kind !== "cron") continue;
      if (state.slotAt === undefined || state.slotAt <= now) continue;
      const slot = nextSlot(row.id, body, now);
      const moved = slot === undefined ? 0 : Math.abs(slot.slotAt - state.slotAt);
      if (slot === undefined || moved === 0 || moved > ZONE_CHANGE_MS) continue;
      const { slotAt, nextAt } = slot;
      await store().tick({
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: nextAt,
        state: { ...state, slotAt },
      });
    }
  }

  return { rereckon, rewindIntervals, list, find, add, change, remove, drop, problems, sync };
}
