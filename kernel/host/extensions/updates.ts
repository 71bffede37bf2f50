/**
 * Starts the versions that should run. A version that fails changes nothing: the old one keeps running, and the error
 * is shown.
 */
import type { WorkerLink } from "../../contract/workers.ts";
import { type Problem, toProblem, formatProblem } from "../../loader/problem.ts";
import { endOrLate } from "../../timing/deadline.ts";
import { advance, isSameProblem, isStarting, wasTried } from "./attempt.ts";
import type { Kind, Phase } from "./kind.ts";
import {
  type Candidate,
  identifyVersion,
  isRemoved,
  shouldRun,
  type Slot,
  type Version,
} from "./slot.ts";
import type { Swap } from "./swap.ts";

/** A broken file is reported only if it is still broken after this time, because editors write in steps. */
const REPORT_AFTER_MS = 100;
/**
 * The host waits this long for a start. A slower one continues in the background, so that it does not delay other
 * changes.
 */
const START_WAIT_MS = 1_000;

type Agree = WorkerLink["agree"];

export interface UpdatesOptions<V extends Version, S extends Slot<V>> {
  kind: Kind<V, S, unknown>;
  slots: Map<string, S>;
  swap: Swap<V, S>;
  phase: Phase;
  rescan(dirs: readonly string[]): Promise<void>;
}

export class Updates<V extends Version, S extends Slot<V>> {
  readonly #kind: Kind<V, S, unknown>;
  readonly #slots: Map<string, S>;
  readonly #swap: Swap<V, S>;
  readonly #phase: Phase;
  readonly #rescan: UpdatesOptions<V, S>["rescan"];

  constructor({ kind, slots, swap, phase, rescan }: UpdatesOptions<V, S>) {
    this.#kind = kind;
    this.#slots = slots;
    this.#swap = swap;
    this.#phase = phase;
    this.#rescan = rescan;
  }

  /**
   * Starts every version that should run and is ready, including those that waited for another of them.
   * `needsAgreement` says for which extensions all processes must activate the version, or none; by default for those
   * that run. The other processes are notified of the rest, and of reloads, afterwards.
   */
  async run(needsAgreement = ({ active }: S): boolean => active !== undefined): Promise<void> {
    const startedSlots = new Set<S>();
    while (!this.#phase.stopped) {
      const ready = [...this.#slots.values()].filter(
        (slot) => !startedSlots.has(slot) && shouldRun(slot) && this.#isReady(slot),
      );
      if (ready.length === 0) break;
      for (const slot of ready) startedSlots.add(slot);
      await Promise.all(
        ready.map((slot) => {
          const isForced = slot.attempt.state === "forced";
          return this.#update(
            slot,
            !isForced && needsAgreement(slot) ? this.#kind.agree : undefined,
          );
        }),
      );
    }
    for (const slot of this.#slots.values()) this.#kind.onSettled?.(slot);
    this.#removeDeleted();
  }

  #isReady({ top }: S): boolean {
    if (top?.problem !== undefined) return true;
    return this.#kind.isReady?.(top as Candidate) ?? true;
  }

  /**
   * Removes the slots of deleted extensions. This runs last, so that a renamed extension always has a version that
   * runs, and each version has a record.
   */
  #removeDeleted(): void {
    for (const slot of [...this.#slots.values()].filter(isRemoved)) {
      this.#slots.delete(slot.name);
      void this.#swap.stop(slot, "it was removed");
    }
  }

  async #update(slot: S, agree: Agree | undefined): Promise<void> {
    const top = slot.top as Candidate;
    const id = identifyVersion(top);
    const isForced = slot.attempt.state === "forced";
    if (top.problem) {
      advance(slot, "begin", { id });
      return this.#fail(slot, top, { problem: top.problem, isPassing: false });
    }
    if (slot.active && !isForced && identifyVersion(slot.active.version.candidate) === id) {
      advance(slot, "confirm", { id });
      slot.active.version.candidate = top;
      return;
    }
    if (wasTried(slot.attempt, id)) return;
    advance(slot, "begin", { id });
    const { started } = await this.#start(slot, top, agree);
    const mayBeLate = this.#phase.started && !isForced && !agree;
    await (mayBeLate ? endOrLate(started, START_WAIT_MS) : started);
  }

  /** Starts a version. Resolves when it is loaded; `started` resolves when it runs or has failed. Neither rejects. */
  async #start(
    slot: S,
    top: Candidate,
    agree: Agree | undefined,
  ): Promise<{ started: Promise<void> }> {
    const id = identifyVersion(top);
    const subject = `${this.#kind.section}.${slot.name}`;
    let hasVoted = false;
    const vote = (): Promise<void> => {
      hasVoted = true;
      return (agree as Agree)(subject, id);
    };
    const fail = (thrown: unknown): void => {
      if (!isStarting(slot.attempt, id)) return;
      if (getErrorCode(thrown) === "conflict") {
        advance(slot, "giveWay", { id });
        return;
      }
      if (!hasVoted) agree?.(subject, id, thrown as Error).catch(() => {});
      const problem = toProblem(thrown, top.realDir, top.source?.entry ?? top.entry);
      const isPassing = hasVoted || getErrorCode((thrown as Error).cause) === "MODULE_NOT_FOUND";
      this.#fail(slot, top, { problem, isPassing, thrown });
    };
    try {
      const version = await this.#kind.load(top);
      if (this.#phase.stopped) return { started: Promise.resolve() };
      const isStillMeant = () => isStarting(slot.attempt, id);
      const started = this.#swap
        .start(slot, version, { agree: agree && vote, isStillMeant })
        .then(() => (agree ? undefined : this.#announce(subject, id)), fail);
      return { started };
    } catch (thrown) {
      fail(thrown);
      return { started: Promise.resolve() };
    }
  }

  /** Notifies the other processes of the version that runs here. */
  #announce(subject: string, id: string): void {
    if (this.#phase.started) this.#kind.agree?.(subject, id).catch(() => {});
  }

  /** Records that the new version does not run. The old one stays as long as its own directory exists. */
  #fail(
    slot: S,
    top: Candidate,
    failure: { problem: Problem; isPassing: boolean; thrown?: unknown },
  ): void {
    const { problem, isPassing, thrown } = failure;
    const isReported = isSameProblem(slot.attempt.problem, problem);
    advance(slot, "fail", { id: identifyVersion(top), problem, isPassing });
    const { active, candidates } = slot;
    const hasDirectory = candidates.some(({ dir }) => dir === active?.version.candidate.dir);
    if (active && !hasDirectory) void this.#swap.stop(slot, "it was removed");
    if (!isReported) this.#report(slot, top, problem, thrown);
  }

  #report(slot: S, top: Candidate, problem: Problem, err: unknown): void {
    const report = (): void => {
      if (slot.attempt.problem !== problem || this.#phase.stopped) return;
      const text = `cannot be loaded: ${formatProblem(problem, top.realDir)}; ${describeConsequence(slot, top)}`;
      slot.log.error({ ...problem, err }, text);
    };
    const rescanAndReport = () => void this.#rescan([top.dir]).then(report, report);
    if (this.#phase.started) setTimeout(rescanAndReport, REPORT_AFTER_MS).unref();
    else report();
  }
}

function describeConsequence({ active, candidates }: Slot, top: Candidate): string {
  if (active)
    return `generation ${active.generation} from ${active.version.candidate.dir} keeps running`;
  const shadowed = candidates.find(({ root }) => root.rank < top.root.rank);
  return shadowed ? `it replaces ${shadowed.dir}, which does not run either` : "it does not run";
}

function getErrorCode(thrown: unknown): unknown {
  return (thrown as { code?: unknown } | undefined)?.code;
}
