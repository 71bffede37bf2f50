/**
 * The agreement of all workers on a version. Each worker votes once it has the new version ready, and activates it when all
 * have voted for it. If one worker refuses or does not vote in time, none activates the version. A subject has one ballot at
 * a time, on the version that was named last: a worker that has voted for another version learns that it is not activated,
 * and has to look again.
 */

/** A stopped worker is replaced earlier than this, and its successor votes. */
const VOTE_TIMEOUT_MS = 15_000;
/** Two ballots that block each other for this long are decided one after the other. */
const DEADLOCK_MS = 1_000;

type Outcome = Pick<Vote, "error" | "isOvertaken">;

interface Ballot {
  id: string;
  votes: Set<number>;
  isDecided: boolean;
  /** Empty until the ballot is decided. */
  outcome: Outcome;
  timer: NodeJS.Timeout;
}

export interface Vote {
  /** For example `hooks.hello` or `config`. */
  subject: string;
  /** The id of the version. */
  id: string;
  /** The reason for which the worker refuses the version. */
  error?: string | undefined;
  /** True if another version comes first, which is no refusal: all workers look again. */
  isOvertaken?: boolean | undefined;
  /** True if the vote responds to a `look`. Such a vote opens no ballot. */
  isAnswer?: boolean;
}

interface BallotOptions {
  voters(): readonly number[];
  /** Asks a worker to check whether it has that version too. */
  look(worker: number, vote: Vote): void;
  sendDecision(worker: number, decision: Vote): void;
  deadlockMs?: number;
}

export function createBallots({
  voters,
  look,
  sendDecision,
  deadlockMs = DEADLOCK_MS,
}: BallotOptions) {
  /** Ballots by subject. A decided ballot stays until all have voted, so that a late voter receives the result. */
  const ballots = new Map<string, Ballot>();

  function decide(subject: string, ballot: Ballot, outcome: Outcome = {}): void {
    if (ballot.isDecided) return;
    Object.assign(ballot, { isDecided: true, outcome });
    clearInterval(ballot.timer);
    for (const worker of ballot.votes) sendDecision(worker, { subject, id: ballot.id, ...outcome });
  }

  function settle(): void {
    const all = voters();
    for (const [subject, ballot] of ballots) {
      if (!all.every((worker) => ballot.votes.has(worker))) continue;
      decide(subject, ballot);
      ballots.delete(subject);
    }
  }

  function openBallot({ subject, id }: Vote, from: number): Ballot {
    let waitedMs = 0;
    const timer = setInterval(() => {
      waitedMs += deadlockMs;
      if (waitedMs >= VOTE_TIMEOUT_MS)
        decide(subject, ballot, { error: "a worker has not responded in time" });
      else if (isDeadlocked(subject, ballot)) {
        decide(subject, ballot, { error: "another change is applied first", isOvertaken: true });
        ballots.delete(subject);
      }
    }, deadlockMs).unref();
    const ballot: Ballot = { id, votes: new Set(), isDecided: false, outcome: {}, timer };
    ballots.set(subject, ballot);
    for (const worker of voters()) if (worker !== from) look(worker, { subject, id });
    return ballot;
  }

  /**
   * Returns whether this ballot and another one wait for each other. While a worker waits for a decision, it looks for no
   * other change of the same kind. So two workers that have each seen another one of two changes would wait forever; once
   * this ballot is given up, its voters look for both changes.
   */
  function isDeadlocked(subject: string, { votes }: Ballot): boolean {
    const lacksVoterOf = (voters: Set<number>, others: Set<number>) =>
      [...others].some((worker) => !voters.has(worker));
    return [...ballots].some(
      ([otherSubject, { isDecided, votes: otherVotes }]) =>
        !isDecided &&
        getKind(otherSubject) === getKind(subject) &&
        lacksVoterOf(votes, otherVotes) &&
        lacksVoterOf(otherVotes, votes),
    );
  }

  return {
    cast(worker: number, vote: Vote): void {
      const { subject, id, error, isAnswer } = vote;
      let ballot = ballots.get(subject);
      if (isAnswer && ballot?.id !== id) return;
      if (ballot && ballot.id !== id) {
        // This process cannot know which of the two is newer, so all of them read the disk again.
        decide(subject, ballot, {
          error: `a different version of ${subject} replaced this one before all workers had accepted it`,
          isOvertaken: true,
        });
        ballot = undefined;
      }
      ballot ??= openBallot(vote, worker);
      ballot.votes.add(worker);
      if (ballot.isDecided) sendDecision(worker, { subject, id, ...ballot.outcome });
      else if (error !== undefined) decide(subject, ballot, { error });
      settle();
    },
    /** Asks a worker that has just started, since it may have the version already and then never votes by itself. */
    addVoter(worker: number): void {
      for (const [subject, { id }] of ballots) look(worker, { subject, id });
    },
    /** Removes a worker that has exited: no ballot waits for it, and its successor votes again. */
    removeVoter(worker: number): void {
      for (const { votes } of ballots.values()) votes.delete(worker);
      settle();
    },
  };
}

/** Returns `hooks` for `hooks.hello`. */
const getKind = (subject: string): string => subject.split(".")[0] as string;
