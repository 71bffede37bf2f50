/** The polls in the store: adds, finds, changes and removes them, and syncs those of the configuration. */
import type { Principal } from "portico";
import { createScheduleEntries, isDead, wantsEnabled } from "portico/schedules";
import type { Store } from "portico/store";
import { type DefinitionOptions, type Creator, PollDefinitions } from "./definition.ts";
import { identityOf, KIND, type Poll, type PollBody, type PollState, toPoll } from "./poll.ts";
import type { ConfiguredPoll, NewPoll, PollChange } from "./schema.ts";

export interface PollEntriesOptions extends DefinitionOptions {
  /** Called after each change, because due times may have moved. */
  changed(): void;
}

type StoredPolls = ReturnType<typeof createScheduleEntries<ConfiguredPoll, Poll>>;

/** The origin of a change. */
type Editor = "api" | "agent";

/** A change of a poll, before it is written. */
interface Edit {
  before: Poll;
  change: PollChange;
  body: PollBody;
  /** True if the poll has another source, so that the next check sets a new baseline. */
  rebaselined: boolean;
  now: number;
}

const NEW_STATE: PollState = { consecutiveErrors: 0, checks: 0, changes: 0 };
/** `Retry-After` is obeyed up to an hour and a lease lasts minutes, so only an interval can defer a check further. */
const LONGEST_WAIT_MS = 4_200_000;

export class PollEntries {
  /** The operations that polls share with every other kind of schedule. */
  readonly schedules: StoredPolls;
  readonly #options: PollEntriesOptions;
  readonly #definitions: PollDefinitions;

  constructor(options: PollEntriesOptions) {
    this.#options = options;
    this.#definitions = new PollDefinitions(options);
    this.schedules = createScheduleEntries<ConfiguredPoll, Poll>({
      store: () => this.#store,
      kind: KIND,
      noun: "poll",
      listedBy: "portico polls list",
      section: "polls.entries",
      read: toPoll,
      isConfigured: (body) => body.origin === "config",
      bodyOf: (definition, anchorMs) => this.bodyOf(definition, { origin: "config" }, anchorMs),
      place: ({ entry, body, enabled, now }) => this.#placeConfigured(entry, body, enabled, now),
      changed: options.changed,
    });
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  /** Converts a definition to its stored form. Throws `invalid_request_error` for one that could not work. */
  bodyOf(definition: ConfiguredPoll, creator: Creator, now: number): PollBody {
    return this.#definitions.bodyOf(definition, creator, now);
  }

  add(definition: NewPoll, origin: Editor, createdBy: Principal): Promise<Poll> {
    return this.schedules.add("poll", definition.name, (_id, now) => {
      const body = this.bodyOf(definition, { origin, createdBy }, now);
      const enabled = wantsEnabled(definition, true);
      return { enabled, nextAt: this.#firstCheckAt(body, enabled, now), body, state: NEW_STATE };
    });
  }

  async change(
    idOrName: string,
    change: PollChange,
    editor: Editor = "api",
  ): Promise<{ poll: Poll; rebaselined: boolean }> {
    let rebaselined = false;
    const poll = await this.schedules.change(idOrName, (before, now) => {
      this.schedules.refuseConfigured(before);
      const body = this.#changedBody(before, change, editor, now);
      rebaselined = identityOf(body.source) !== identityOf(before.body.source);
      return {
        name: change.name,
        body,
        ...this.#placeChanged({ before, change, body, rebaselined, now }),
      };
    });
    return { poll, rebaselined };
  }

  /**
   * Releases the leases of dead processes of this machine at the start, so that their checks are repeated at once. If such a
   * process still runs after all, the store refuses its commit, so that nothing happens twice. Resolves to the number of
   * released leases.
   */
  async freeLeases(all: readonly Poll[]): Promise<number> {
    let count = 0;
    for (const { row, state } of all) {
      const { leased, ...rest } = state;
      if (leased === undefined || leased.until !== row.nextAt) continue;
      // Earlier versions named no worker.
      const isWorkerDead =
        leased.worker === undefined || isDead(leased.worker, { afterStart: true });
      if (!isWorkerDead) continue;
      await this.#store.tick({
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: leased.dueAt,
        state: rest,
      });
      count++;
    }
    this.#options.changed();
    return count;
  }

  /** Brings forward checks that are due too late because the clock went back. */
  async rewindIntervals(now: number, all?: readonly Poll[]): Promise<void> {
    for (const { row, body } of all ?? (await this.schedules.list())) {
      const { schedule } = body;
      if (row.nextAt === null || schedule.kind !== "every") continue;
      const latest = now + Math.max(schedule.everyMs * 1.1, LONGEST_WAIT_MS);
      if (row.nextAt <= latest) continue;
      await this.#store.tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, next: now });
    }
  }

  #firstCheckAt(body: PollBody, enabled: boolean, now: number): number | null {
    return enabled ? this.#definitions.firstCheckAt(body, now) : null;
  }

  #placeConfigured(before: Poll | undefined, body: PollBody, enabled: boolean, now: number) {
    const rebaselined =
      before !== undefined && identityOf(body.source) !== identityOf(before.body.source);
    return {
      enabled,
      nextAt: this.#firstCheckAt(body, enabled, now),
      state: before === undefined ? NEW_STATE : stateAfterChange(before, enabled, rebaselined),
      cursor: rebaselined ? null : undefined,
    };
  }

  #changedBody(poll: Poll, change: PollChange, editor: Editor, now: number): PollBody {
    const { anchorMs, origin: currentOrigin, createdBy, every, schedule, ...rest } = poll.body;
    // If the agent changes the source of a poll, the limits for polls of the agent apply to it from then on.
    const origin = editor === "agent" && change.source !== undefined ? "agent" : currentOrigin;
    // A poll that another principal changes still acts for its creator.
    const creator: Creator = createdBy === undefined ? { origin } : { origin, createdBy };
    if (isRescheduled(change)) {
      const definition = { ...rest, ...change } as ConfiguredPoll;
      return this.#definitions.bodyOf(definition, creator, now, poll.body);
    }
    const timing = every === undefined ? { schedule } : { every };
    const definition = { ...rest, ...timing, ...change } as ConfiguredPoll;
    return { ...this.#definitions.bodyOf(definition, creator, now, poll.body), anchorMs };
  }

  /** Returns whether a changed poll is enabled, when it is checked next, and the remaining state. */
  #placeChanged({ before, change, body, rebaselined, now }: Edit) {
    const { row } = before;
    const enabled = wantsEnabled(change, row.enabled);
    const isReenabled = enabled && !row.enabled;
    const { leased } = before.state;
    // A running check loses its lease by this change, so it is repeated at once.
    const losesLease = leased !== undefined && leased.until === row.nextAt;
    const startsAgain = isReenabled || rebaselined || isRescheduled(change) || losesLease;
    const currentSlot = enabled && !startsAgain ? row.nextAt : null;
    return {
      enabled,
      nextAt: currentSlot ?? this.#firstCheckAt(body, enabled, now),
      state: stateAfterChange(before, enabled, rebaselined),
      cursor: rebaselined ? null : undefined,
    };
  }
}

/** Failures of another source, or from before a poll was disabled, do not delay its next checks. */
function stateAfterChange(
  { row, state: before }: Poll,
  enabled: boolean,
  rebaselined: boolean,
): PollState {
  const { leased: _, ...state } = before;
  if (rebaselined) delete state.cursor;
  const isReenabled = enabled && !row.enabled;
  if (isReenabled || rebaselined) state.consecutiveErrors = 0;
  return state;
}

const isRescheduled = ({ every, schedule }: PollChange): boolean =>
  every !== undefined || schedule !== undefined;
