/**
 * The progress of an extension's newest version: one value, which only the transitions in the table below change. Which
 * version runs is a separate fact (`Slot.active`), because an older version keeps running while a newer one fails.
 */
import type { Problem } from "../../loader/problem.ts";

/** `problem` is shown until a version runs. An `id` names a version: its directory and the hash of its content. */
export type Attempt =
  /** The host has not tried the version on disk, or must try it again. */
  | { readonly state: "due"; readonly problem?: Problem | undefined }
  /** A reload was requested: the version must be loaded again, although nothing has changed. */
  | { readonly state: "forced"; readonly problem?: Problem | undefined }
  /** The version is being loaded or started. */
  | { readonly state: "starting"; readonly id: string; readonly problem?: Problem | undefined }
  /** The version on disk is the one that runs. */
  | { readonly state: "running"; readonly id: string; readonly problem?: undefined }
  /** The version failed, and fails again until its content changes. */
  | { readonly state: "failed"; readonly id: string; readonly problem: Problem }
  /** The version failed for a reason that can vanish, such as a missing package. */
  | { readonly state: "retryable"; readonly id: string; readonly problem: Problem };

export type AttemptEvent = { readonly [E in keyof Transitions]: Parameters<Transitions[E]>[1] };
type Transitions = typeof TRANSITIONS;
type Failure = { id: string; problem: Problem; isPassing: boolean };
type Version = { id: string };
type Nothing = Record<never, never>;

const TRANSITIONS = {
  /** The host begins to load a version. Another version that is still starting no longer takes effect. */
  begin: ({ problem }: Attempt, { id }: Version): Attempt => ({ state: "starting", id, problem }),
  /** The version on disk runs already. */
  confirm: (_: Attempt, { id }: Version): Attempt => ({ state: "running", id }),
  /** A version has taken effect. A restart of the old one does not end the attempt to start a newer one. */
  succeed: (attempt: Attempt, { id }: Version): Attempt =>
    isStarting(attempt) && attempt.id !== id
      ? { state: "starting", id: attempt.id }
      : { state: "running", id },
  /**
   * The version cannot run. A failure with the same problem as the last one keeps that problem, which has already been
   * reported.
   */
  fail(attempt: Attempt, { id, problem, isPassing }: Failure): Attempt {
    if (!isStarting(attempt, id)) return attempt;
    const reported = isSameProblem(attempt.problem, problem) ? attempt.problem : problem;
    return { state: isPassing ? "retryable" : "failed", id, problem: reported };
  },
  /** The version gives way to one of another process. The next scan decides again. */
  giveWay: (attempt: Attempt, { id }: Version): Attempt =>
    isStarting(attempt, id) ? { state: "due", problem: attempt.problem } : attempt,
  /** The host scans the disk again. */
  rescan: (attempt: Attempt, _: Nothing): Attempt =>
    attempt.state === "retryable" ? { state: "due", problem: attempt.problem } : attempt,
  /** A dependency of the version, such as its configuration, has changed, or the active version was stopped. */
  retry: ({ state, problem }: Attempt, _: Nothing): Attempt =>
    state === "forced" ? { state, problem } : { state: "due", problem },
  /** A command or a route requests a reload. */
  force: ({ problem }: Attempt, _: Nothing): Attempt => ({ state: "forced", problem }),
  /** The extension is switched off or may not run. That is no error. */
  disable: (_attempt: Attempt, _: Nothing): Attempt => ({ state: "due" }),
};

export const NOT_TRIED: Attempt = { state: "due" };

/** Applies the transition with that name. */
export function advance<E extends keyof AttemptEvent>(
  slot: { attempt: Attempt },
  event: E,
  ...[details]: AttemptEvent[E] extends Nothing ? [details?: AttemptEvent[E]] : [AttemptEvent[E]]
): void {
  const transition = TRANSITIONS[event] as (attempt: Attempt, details: unknown) => Attempt;
  slot.attempt = transition(slot.attempt, details ?? {});
}

/** Whether the version was tried already, and need not be tried again unless it changes. */
export function wasTried(attempt: Attempt, id: string): boolean {
  return "id" in attempt && attempt.id === id;
}

/** Whether a version is being started. With an id, whether that version is. */
export function isStarting(
  attempt: Attempt,
  id?: string,
): attempt is Extract<Attempt, { state: "starting" }> {
  return attempt.state === "starting" && (id === undefined || attempt.id === id);
}

/** Whether two problems are the same, so that the log would repeat itself. */
export function isSameProblem(earlier: Problem | undefined, later: Problem): earlier is Problem {
  return earlier?.message === later.message && earlier.line === later.line;
}
