/**
 * What all workers do, or none: each votes once it has the new version ready, and takes it up when all have. A refusal is
 * everybody's, and so is silence. Of each subject one version at a time is voted on, the one that was named last: a
 * worker that has voted for another learns that its version is not taken up, and is asked to look again.
 */

/** Longer than a stopped worker is left in its place: its successor votes. */
const SILENCE_MS = 15_000;
/** Two subjects that keep each other waiting this long are decided one after the other. */
const CIRCLE_MS = 1_000;

type Outcome = Pick<Vote, "error" | "isOvertaken">;

interface Ballot {
  id: string;
  votes: Set<number>;
  decided: boolean;
  /** Once it is decided. */
  outcome: Outcome;
  timer: NodeJS.Timeout;
}

export interface Vote {
  /** `hooks.hello`, `config`. */
  subject: string;
  /** Of the version. */
  id: string;
  /** Why it is refused. */
  error?: string | undefined;
  /** It is not refused: another one comes first, and all look again. */
  isOvertaken?: boolean | undefined;
  /** It answers a `look`: without a ballot there is nothing to say. */
  isAnswer?: boolean;
}

interface BallotOptions {
  voters(): readonly number[];
  /** Has a worker look whether it has that version too. */
  look(worker: number, vote: Vote): void;
  tell(worker: number, decision: Vote): void;
  circleMs?: number;
}

export function createBallots({ voters, look, tell, circleMs = CIRCLE_MS }: BallotOptions) {
  /** By subject. A decided one stays until all have voted, so that a late voter receives the result. */
  const ballots = new Map<string, Ballot>();

  function decide(subject: string, ballot: Ballot, outcome: Outcome = {}): void {
    if (ballot.decided) return;
    Object.assign(ballot, { decided: true, outcome });
    clearInterval(ballot.timer);
    for (const worker of ballot.votes) tell(worker, { subject, id: ballot.id, ...outcome });
  }

  function settle(): void {
    const all = voters();
    for (const [subject, ballot] of ballots) {
      if (!all.every((worker) => ballot.votes.has(worker))) continue;
      decide(subject, ballot);
      ballots.delete(subject);
    }
  }

  function open({ subject, id }: Vote, from: number): Ballot {
    let waitedMs = 0;
    const timer = setInterval(() => {
      waitedMs += circleMs;
      if (waitedMs >= SILENCE_MS)
        decide(subject, ballot, { error: "a worker has not answered in time" });
      else if (isInCircle(subject, ballot)) {
        decide(subject, ballot, { error: "another change is applied first", isOvertaken: true });
        ballots.delete(subject);
      }
    }, circleMs).unref();
    const ballot: Ballot = { id, votes: new Set(), decided: false, outcome: {}, timer };
    ballots.set(subject, ballot);
    for (const worker of voters()) if (worker !== from) look(worker, { subject, id });
    return ballot;
  }

  /**
   * A worker looks for nothing else of a kind while it waits. One that has seen only the first of two changes and waits
   * for another that has seen only the second gets no further; once this ballot is given up, it looks for both.
   */
  function isInCircle(subject: string, { votes }: Ballot): boolean {
    const lacks = (some: Set<number>, others: Set<number>) =>
      [...others].some((worker) => !some.has(worker));
    return [...ballots].some(
      ([other, { decided, votes: others }]) =>
        !decided &&
        kindOf(other) === kindOf(subject) &&
        lacks(votes, others) &&
        lacks(others, votes),
    );
  }

  return {
    cast(worker: number, vote: Vote): void {
      const { subject, id, error, isAnswer } = vote;
      let ballot = ballots.get(subject);
      if (isAnswer && ballot?.id !== id) return;
      if (ballot && ballot.id !== id) {
        // This process cannot know which of the two is newer, so all of them read the disk again.
        decide(subject, ballot, { error: "another version has arrived", isOvertaken: true });
        ballot = undefined;
      }
      ballot ??= open(vote, worker);
      ballot.votes.add(worker);
      if (ballot.decided) tell(worker, { subject, id, ...ballot.outcome });
      else if (error !== undefined) decide(subject, ballot, { error });
      settle();
    },
    /** A worker that has come may have the version already, and then would never vote by itself. */
    arrived(worker: number): void {
      for (const [subject, { id }] of ballots) look(worker, { subject, id });
    },
    /** A worker has exited: nothing waits for it, and its successor votes again. */
    forget(worker: number): void {
      for (const { votes } of ballots.values()) votes.delete(worker);
      settle();
    },
  };
}

/** `hooks` of `hooks.hello`. */
const kindOf = (subject: string): string => subject.split(".")[0] as string;
