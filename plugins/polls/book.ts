/** The polls in the store: add, find, change, remove, and those of the configuration. */
import { type PluginContext, PorticoError, type ScheduleTools } from "portico";
import { defaultPayload } from "./deliver.ts";
import { guardOf } from "./policy.ts";
import { identityOf, KIND, MASK, newPollId, type Poll, type PollBody, type PollState, toPoll } from "./poll.ts";
import type { ConfiguredPoll, NewPoll, PollChange, PollsConfig, Source } from "./schema.ts";
import { compileIgnored } from "./sources/ignore.ts";
import { compileSelector } from "./sources/select.ts";
import { needs } from "./sources/source.ts";

export interface BookOptions {
  ctx: PluginContext;
  tools: ScheduleTools;
  settings(): PollsConfig;
  changed(): void;
}
export type PollBook = ReturnType<typeof createBook>;

const SETTINGS = ["description", "maxItems", "timeoutMs", "maxBytes", "allowPrivateNetwork"] as const;
const SHORTEST_MS = 100;
/** `Retry-After` is followed up to an hour, a lease lasts some minutes: nothing is ever further away but by its interval. */
const LONGEST_WAIT_MS = 4_200_000;

const wanted = (given: { status?: string; enabled?: boolean }, otherwise: boolean): boolean =>
  given.status !== undefined ? given.status === "enabled" : (given.enabled ?? otherwise);

const invalid = (message: string, param: string): PorticoError =>
  new PorticoError("invalid_request_error", message, { param });

/** Which fields a kind of source knows, beside `kind`. */
const FIELDS: Record<Source["kind"], readonly string[]> = {
  http: ["url", "headers", "ignore"],
  json: ["url", "headers", "items", "key"],
  feed: ["url", "headers"],
  html: ["url", "headers", "selector", "ignore", "remove"],
  file: ["path", "ignore", "match"],
};

function checkSource(source: Source): void {
  const known = FIELDS[source.kind];
  const stray = Object.keys(source).find((key) => key !== "kind" && !known.includes(key));
  if (stray !== undefined)
    throw invalid(`A source of kind ${source.kind} has no ${stray}: it knows ${known.join(", ")}.`, `source.${stray}`);
  if (source.kind === "file" && source.path === undefined) throw needs("path", "file");
  if (source.kind !== "file" && source.url === undefined) throw needs("url", source.kind);
  if (source.selector !== undefined) compileSelector(source.selector);
  for (const selector of source.remove ?? []) compileSelector(selector);
  compileIgnored(source.ignore);
}

/** A masked header that comes back from a listing means the one that is there. */
function withoutMasks(next: Source, before: Source | undefined): Source {
  if (next.headers === undefined) return next;
  const headers = Object.entries(next.headers).map(([name, value]) => [
    name,
    value === MASK ? (before?.headers?.[name] ?? value) : value,
  ]);
  return { ...next, headers: Object.fromEntries(headers) };
}

export function createBook({ ctx, tools, settings, changed }: BookOptions) {
  const store = () => ctx.use("store");

  function scheduleOf(
    given: Pick<ConfiguredPoll, "every" | "schedule">,
    now: number,
  ): Pick<PollBody, "every" | "schedule"> {
    if (given.schedule !== undefined) {
      if (given.every !== undefined) throw invalid("Give either every or schedule, not both.", "every");
      return { schedule: tools.readSchedule(given.schedule, now, "schedule") };
    }
    const everyMs = tools.parseDuration(given.every ?? "5m", "every");
    if (everyMs < SHORTEST_MS) throw invalid("A poll may look at most ten times a second.", "every");
    return { every: tools.formatDuration(everyMs), schedule: { kind: "every", everyMs } };
  }

  function bodyOf(given: ConfiguredPoll, origin: PollBody["origin"], now: number, before?: Source): PollBody {
    const source = withoutMasks(given.source, before);
    checkSource(source);
    const payload =
      given.payload === undefined ? defaultPayload(source.kind) : tools.readPayload(given.payload, "payload");
    const body: PollBody = {
      ...scheduleOf(given, now),
      source,
      payload,
      fireOnFirst: given.fireOnFirst ?? false,
      origin,
      anchorMs: now,
    };
    for (const key of SETTINGS) if (given[key] !== undefined) Object.assign(body, { [key]: given[key] });
    if (source.url !== undefined) guardOf(ctx, settings(), body).precheck(source.url);
    if (payload.kind === "hook") tools.declareHookEvent(payload.event);
    return body;
  }

  async function list(): Promise<Poll[]> {
    return (await store().schedules.list(KIND)).map(toPoll);
  }

  /** By id, or by a name that only one poll has. Throws 404, or 409 where several have it. */
  async function find(idOrName: string): Promise<Poll> {
    const row = await store().schedules.get(KIND, idOrName);
    if (row) return toPoll(row);
    const named = (await list()).filter((poll) => poll.row.name === idOrName);
    if (named.length === 1) return named[0]!;
    const shown = JSON.stringify(idOrName);
    if (named.length > 1) {
      throw new PorticoError(
        "conflict",
        `Several polls are named ${shown}: use an id (${named.map((poll) => poll.row.id).join(", ")}).`,
      );
    }
    throw new PorticoError("not_found", `There is no poll ${shown}. List them with: portico polls list`);
  }

  function refuseConfigured({ row, body }: Poll): void {
    if (body.origin !== "config") return;
    throw new PorticoError(
      "conflict",
      `The poll ${JSON.stringify(row.name)} stands in the configuration (polls.entries.${row.name}): change it there.`,
    );
  }

  /** An interval begins at once, with the baseline; a schedule at its first date. */
  const firstAt = (body: PollBody, now: number): number =>
    body.every !== undefined ? now : (tools.next(body.schedule, now, body.anchorMs) ?? now);

  async function add(given: NewPoll, origin: "api" | "agent"): Promise<Poll> {
    const now = store().now();
    const id = newPollId();
    const body = bodyOf(given, origin, now);
    const enabled = wanted(given, true);
    const row = await store().schedules.put({
      kind: KIND,
      id,
      name: given.name ?? id,
      enabled,
      nextAt: enabled ? firstAt(body, now) : null,
      body,
      state: { consecutiveErrors: 0, checks: 0, changes: 0 } satisfies PollState,
    });
    changed();
    return toPoll(row!);
  }

  /** `by`: an agent that gives a poll another source makes it its own, with an agent's limits. */
  async function change(
    idOrName: string,
    given: PollChange,
    by: "api" | "agent" = "api",
  ): Promise<{ poll: Poll; rebaselined: boolean }> {
    for (;;) {
      const poll = await find(idOrName);
      refuseConfigured(poll);
      const now = store().now();
      const { anchorMs, origin: made, every, schedule, ...before } = poll.body;
      const origin = by === "agent" && given.source !== undefined ? "agent" : made;
      const moved = given.every !== undefined || given.schedule !== undefined;
      const timing = moved ? {} : every === undefined ? { schedule } : { every };
      const body = bodyOf({ ...before, ...timing, ...given } as ConfiguredPoll, origin, now, before.source);
      if (!moved) Object.assign(body, { anchorMs });
      const rebaselined = identityOf(body.source) !== identityOf(before.source);
      const enabled = wanted(given, poll.row.enabled);
      const { leased, ...state } = poll.state;
      if (rebaselined) delete state.cursor;
      const revived = enabled && !poll.row.enabled;
      if (revived || rebaselined) state.consecutiveErrors = 0;
      // A check that is going on loses its lease by this change: it is made again at once.
      const fresh = revived || moved || rebaselined || poll.row.nextAt === null || leased?.until === poll.row.nextAt;
      const nextAt = enabled ? (fresh ? firstAt(body, now) : poll.row.nextAt) : null;
      const { id } = poll.row;
      const row = await store().schedules.put(
        {
          kind: KIND,
          id,
          name: given.name ?? poll.row.name,
          enabled,
          nextAt,
          body,
          state,
          ...(rebaselined ? { cursor: null } : {}),
        },
        poll.row.rev,
      );
      if (!row) continue;
      changed();
      return { poll: toPoll(row), rebaselined };
    }
  }

  async function drop(id: string): Promise<void> {
    await store().schedules.delete(KIND, id);
    await store().runs.prune(`${KIND}:${id}`, 0);
    changed();
  }

  async function remove(idOrName: string): Promise<Poll> {
    const poll = await find(idOrName);
    refuseConfigured(poll);
    await drop(poll.row.id);
    return poll;
  }

  /** What is wrong with polls of the configuration, by name. */
  function problems(configured: PollsConfig["entries"]): Map<string, PorticoError> {
    const found = new Map<string, PorticoError>();
    for (const [name, given] of Object.entries(configured)) {
      try {
        bodyOf(given, "config", store().now());
      } catch (cause) {
        const param = `polls.entries.${name}`;
        const message = `${param}: ${(cause as Error).message}`;
        found.set(name, new PorticoError("invalid_request_error", message, { param, cause }));
      }
    }
    return found;
  }

  /** Brings the store in line with `polls.entries`; a poll whose definition stayed keeps its cursor and its history. */
  async function sync(configured: PollsConfig["entries"]): Promise<void> {
    const now = store().now();
    const wrong = problems(configured);
    const known = new Map(
      (await list()).filter(({ body }) => body.origin === "config").map((poll) => [poll.row.name, poll]),
    );
    for (const [name, given] of Object.entries(configured)) {
      const poll = known.get(name);
      known.delete(name);
      if (wrong.has(name)) continue;
      const body = bodyOf(given, "config", poll?.body.anchorMs ?? now);
      const enabled = wanted(given, true);
      const definition = JSON.stringify([body, enabled]);
      if (poll && poll.state.configured === definition) continue;
      const rebaselined = poll !== undefined && identityOf(body.source) !== identityOf(poll.body.source);
      const state: PollState = {
        ...(poll?.state ?? { consecutiveErrors: 0, checks: 0, changes: 0 }),
        configured: definition,
      };
      delete state.leased;
      await store().schedules.put({
        kind: KIND,
        id: poll?.row.id ?? `config:${name}`,
        name,
        enabled,
        nextAt: enabled ? firstAt(body, now) : null,
        body,
        state,
        ...(rebaselined ? { cursor: null } : {}),
      });
    }
    for (const gone of known.values()) await drop(gone.row.id);
    changed();
  }

  /**
   * Takes back what a gateway that is gone had taken: its checks are made again at once. Where it is not gone after
   * all, its commit is refused and nothing doubles.
   */
  async function freeLeases(): Promise<void> {
    for (const { row, state } of await list()) {
      const { leased, ...rest } = state;
      if (leased === undefined || leased.until !== row.nextAt) continue;
      await store().tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, next: leased.dueAt, state: rest });
    }
    changed();
  }

  /** Intervals that lie further ahead than they can: the clock went back after they were reckoned. */
  async function rewindIntervals(now: number): Promise<void> {
    for (const { row, body } of await list()) {
      const { schedule } = body;
      if (row.nextAt === null || schedule.kind !== "every") continue;
      const furthest = now + Math.max(schedule.everyMs * 1.1, LONGEST_WAIT_MS);
      if (row.nextAt > furthest) await store().tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, next: now });
    }
  }

  return { freeLeases, rewindIntervals, list, find, add, change, remove, drop, problems, sync, bodyOf };
}
