/**
 * What all workers do, or none: each votes once it has the new version ready, and takes it up when all have. A refusal is
 * everybody's, and so is silence.
 */

/** Longer than a stopped worker is left in its place: its successor votes. */
const SILENCE_MS = 15_000;

interface Ballot {
  votes: Set<number>;
  decided: boolean;
  error: string | undefined;
  timer: NodeJS.Timeout;
}

export interface Vote {
  /** `hooks.hello`, `config`. */
  subject: string;
  /** Of the version. */
  id: string;
  /** Why it is refused. */
  error?: string | undefined;
  /** It answers a `look`: without a ballot there is nothing to say. */
  isAnswer?: boolean;
}

interface BallotOptions {
  voters(): readonly number[];
  /** Has a worker look whether it has that version too. */
  look(worker: number, vote: Vote): void;
  tell(worker: number, decision: Vote): void;
}

export function createBallots({ voters, look, tell }: BallotOptions) {
  const subjects = new Map<string, Map<string, Ballot>>();

  function decide(subject: string, id: string, error?: string): void {
    const ballot = subjects.get(subject)!.get(id)!;
    if (ballot.decided) return;
    Object.assign(ballot, { decided: true, error });
    clearTimeout(ballot.timer);
    for (const worker of ballot.votes) tell(worker, { subject, id, error });
    settle();
  }

  /** Decides what all have voted for, and forgets what all have heard of. */
  function settle(): void {
    const all = voters();
    for (const [subject, ballots] of subjects) {
      for (const [id, { votes, decided }] of ballots) {
        if (!all.every((worker) => votes.has(worker))) continue;
        if (decided) ballots.delete(id);
        else decide(subject, id);
      }
      if (ballots.size === 0) subjects.delete(subject);
    }
  }

  function open(vote: Vote, from: number): Ballot {
    const { subject, id } = vote;
    const silence = () => decide(subject, id, "a worker has not answered in time");
    const timer = setTimeout(silence, SILENCE_MS).unref();
    const ballot = { votes: new Set<number>(), decided: false, error: undefined, timer };
    subjects.set(subject, (subjects.get(subject) ?? new Map<string, Ballot>()).set(id, ballot));
    for (const worker of voters()) if (worker !== from) look(worker, { subject, id });
    return ballot;
  }

  return {
    cast(worker: number, vote: Vote): void {
      const { subject, id, error, isAnswer } = vote;
      if (isAnswer && !subjects.get(subject)?.has(id)) return;
      // Whoever votes for another version has no more to say about this one.
      for (const [other, { votes }] of subjects.get(subject) ?? [])
        if (!isAnswer && other !== id && !votes.has(worker)) decide(subject, other, "a newer version has come");
      const ballot = subjects.get(subject)?.get(id) ?? open(vote, worker);
      ballot.votes.add(worker);
      if (ballot.decided) tell(worker, { subject, id, error: ballot.error });
      else if (error !== undefined) decide(subject, id, error);
      settle();
    },
    /** A worker has gone: nothing waits for it, and its successor votes anew. */
    forget(worker: number): void {
      for (const ballots of subjects.values()) for (const { votes } of ballots.values()) votes.delete(worker);
      settle();
    },
  };
}
