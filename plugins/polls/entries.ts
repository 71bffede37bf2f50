/** The polls in the store: add, find, change, remove, and those of the configuration. */
import { type PluginContext, PorticoError, type Principal } from "portico";
import { openPayload, sealPayload } from "portico/deliveries";
import {
  createScheduleEntries,
  type ScheduleTools,
  unmasked,
  unmaskedPayload,
  wantsEnabled,
  isDead,
} from "portico/schedules";
import { checkSource } from "./check-source.ts";
import { defaultPayload } from "./checking/deliver.ts";
import { guardOf } from "./policy.ts";
import {
  identityOf,
  KIND,
  masked,
  placeOf,
  type Poll,
  type PollBody,
  type PollState,
  toPoll,
} from "./poll.ts";
import type { ConfiguredPoll, NewPoll, PollChange, PollsConfig } from "./schema.ts";
import { confined, fileRoots } from "./sources/confined.ts";

export interface PollEntriesOptions {
  ctx: PluginContext;
  tools: ScheduleTools;
  settings(): PollsConfig;
  changed(): void;
}
export type PollEntries = ReturnType<typeof createPollEntries>;

/** What a poll may have or not. */
export const SETTINGS = [
  "description",
  "maxItems",
  "timeoutMs",
  "maxBytes",
  "allowPrivateNetwork",
  "tools",
] as const;
const NEW_STATE: PollState = { consecutiveErrors: 0, checks: 0, changes: 0 };
const SHORTEST_MS = 100;
/** `Retry-After` is followed up to an hour, a lease lasts some minutes: nothing is ever further away but by its interval. */
const LONGEST_WAIT_MS = 4_200_000;

const invalid = (message: string, param: string): PorticoError =>
  new PorticoError("invalid_request_error", message, { param });

export function createPollEntries({ ctx, tools, settings, changed }: PollEntriesOptions) {
  const store = () => ctx.use("store");

  function scheduleOf(
    given: Pick<ConfiguredPoll, "every" | "schedule">,
    now: number,
  ): Pick<PollBody, "every" | "schedule"> {
    if (given.schedule !== undefined) {
      if (given.every !== undefined)
        throw invalid("Give either every or schedule, not both.", "every");
      return { schedule: tools.readSchedule(given.schedule, now, "schedule") };
    }
    const everyMs = tools.parseDuration(given.every ?? "5m", "every");
    if (everyMs < SHORTEST_MS)
      throw invalid("A poll may look at most ten times a second.", "every");
    return { every: tools.formatDuration(everyMs), schedule: { kind: "every", everyMs } };
  }

  function bodyOf(
    given: ConfiguredPoll,
    { origin, createdBy }: Pick<PollBody, "origin" | "createdBy">,
    now: number,
    before?: PollBody,
  ): PollBody {
    const source = unmasked(
      given.source,
      before && masked(before.source),
      before?.source,
      "source",
    );
    checkSource(source);
    const payload =
      given.payload === undefined
        ? defaultPayload(source.kind)
        : unmaskedPayload(
            tools.readPayload(given.payload, "payload"),
            before && openPayload(ctx, before.payload),
          );
    if (payload.kind === "agentTurn" && payload.delivery === "announce")
      throw invalid(
        "A poll's turns may not post to the main session, since strangers write what it finds. Use a payload of kind systemEvent: the heartbeat of the main session gets it.",
        "payload.delivery",
      );
    // A session may be a template, which is filled in later.
    tools.checkPayload(payload.kind === "agentTurn" ? { ...payload, session: undefined } : payload);
    const body: PollBody = {
      ...scheduleOf(given, now),
      source,
      payload,
      fireOnFirst: given.fireOnFirst ?? false,
      origin,
      anchorMs: now,
    };
    if (createdBy !== undefined) body.createdBy = createdBy;
    for (const key of SETTINGS)
      if (given[key] !== undefined) Object.assign(body, { [key]: given[key] });
    // What has become forbidden since can still be renamed, and switched off.
    if (
      before === undefined ||
      origin !== before.origin ||
      placeOf(source) !== placeOf(before.source)
    )
      checkPlace(body);
    if (payload.kind === "hook") tools.declareHookEvent(payload.event);
    return { ...body, payload: sealPayload(ctx, payload) };
  }

  function checkPlace(body: PollBody): void {
    const { url, path } = body.source;
    if (url !== undefined) guardOf(ctx, settings(), body).precheck(url);
    if (path !== undefined) confined(fileRoots(ctx, settings().roots), path);
  }

  /** An interval begins at once, with the baseline; a schedule at its first date. */
  const firstAt = (body: PollBody, now: number): number =>
    body.every !== undefined ? now : (tools.next(body.schedule, now, body.anchorMs) ?? now);

  const kept = createScheduleEntries<ConfiguredPoll, Poll>({
    store,
    kind: KIND,
    noun: "poll",
    listedBy: "portico polls list",
    section: "polls.entries",
    read: toPoll,
    isConfigured: (body) => body.origin === "config",
    bodyOf: (given, anchorMs) => bodyOf(given, { origin: "config" }, anchorMs),
    place({ entry: poll, body, enabled, now }) {
      const rebaselined =
        poll !== undefined && identityOf(body.source) !== identityOf(poll.body.source);
      const { leased: _, ...state } = poll?.state ?? NEW_STATE;
      return {
        enabled,
        nextAt: enabled ? firstAt(body, now) : null,
        state,
        cursor: rebaselined ? null : undefined,
      };
    },
    changed,
  });

  const add = (given: NewPoll, origin: "api" | "agent", createdBy: Principal): Promise<Poll> =>
    kept.add("poll", given.name, (_id, now) => {
      const body = bodyOf(given, { origin, createdBy }, now);
      const enabled = wantsEnabled(given, true);
      return { enabled, nextAt: enabled ? firstAt(body, now) : null, body, state: NEW_STATE };
    });

  /** `by`: an agent that gives a poll another source makes it its own, with an agent's limits. */
  async function change(
    idOrName: string,
    given: PollChange,
    by: "api" | "agent" = "api",
  ): Promise<{ poll: Poll; rebaselined: boolean }> {
    let rebaselined = false;
    const poll = await kept.change(idOrName, (poll, now) => {
      kept.refuseConfigured(poll);
      const { anchorMs, origin: made, createdBy, every, schedule, ...before } = poll.body;
      const origin = by === "agent" && given.source !== undefined ? "agent" : made;
      const moved = given.every !== undefined || given.schedule !== undefined;
      const timing = moved ? {} : every === undefined ? { schedule } : { every };
      const body = bodyOf(
        { ...before, ...timing, ...given } as ConfiguredPoll,
        // After a change by somebody else it still acts for its creator.
        createdBy === undefined ? { origin } : { origin, createdBy },
        now,
        poll.body,
      );
      if (!moved) Object.assign(body, { anchorMs });
      rebaselined = identityOf(body.source) !== identityOf(before.source);
      const enabled = wantsEnabled(given, poll.row.enabled);
      const { leased, ...state } = poll.state;
      if (rebaselined) delete state.cursor;
      const revived = enabled && !poll.row.enabled;
      if (revived || rebaselined) state.consecutiveErrors = 0;
      // A check that is going on loses its lease by this change: it is made again at once.
      const fresh =
        revived ||
        moved ||
        rebaselined ||
        poll.row.nextAt === null ||
        leased?.until === poll.row.nextAt;
      const nextAt = enabled ? (fresh ? firstAt(body, now) : poll.row.nextAt) : null;
      return {
        name: given.name,
        enabled,
        nextAt,
        body,
        state,
        cursor: rebaselined ? null : undefined,
      };
    });
    return { poll, rebaselined };
  }

  /**
   * At the start: takes back what a process of this machine had taken that is gone; its checks are made again at once. Where
   * it is not gone after all, its commit is refused and nothing doubles. Answers how many there were.
   */
  async function freeLeases(all: readonly Poll[]): Promise<number> {
    let freed = 0;
    for (const { row, state } of all) {
      const { leased, ...rest } = state;
      if (leased === undefined || leased.until !== row.nextAt) continue;
      // earlier versions have named no worker
      if (leased.worker !== undefined && !isDead(leased.worker, { afterStart: true })) continue;
      await store().tick({
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: leased.dueAt,
        state: rest,
      });
      freed++;
    }
    changed();
    return freed;
  }

  /** Intervals that lie further ahead than they can: the clock went back after they were reckoned. */
  async function rewindIntervals(now: number, all?: readonly Poll[]): Promise<void> {
    for (const { row, body } of all ?? (await kept.list())) {
      const { schedule } = body;
      if (row.nextAt === null || schedule.kind !== "every") continue;
      const furthest = now + Math.max(schedule.everyMs * 1.1, LONGEST_WAIT_MS);
      if (row.nextAt > furthest)
        await store().tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, next: now });
    }
  }

  return { ...kept, add, change, freeLeases, rewindIntervals, bodyOf };
}
