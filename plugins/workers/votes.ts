/** The votes of one worker: it votes for each version that it has ready, and responds when it is asked which version it has. */
import { PorticoError, type SeenVersion } from "portico";
import type { Vote } from "./ballots.ts";

export function createVotes(index: number, send: (vote: Vote) => void) {
  /** The votes without a decision, by subject and version. */
  const pendingVotes = new Map<string, (error?: Error) => void>();
  /** The checks in progress that the primary process has asked for. */
  const checks = new Set<{ subject: string; hasVoted: boolean }>();
  let look = async (_subject: string): Promise<SeenVersion> => ({});

  return {
    cast(subject: string, id: string, refusal?: Error): Promise<void> {
      for (const check of checks) check.hasVoted ||= check.subject === subject;
      const decided = new Promise<void>((resolve, reject) => {
        pendingVotes.set(`${subject} ${id}`, (error) => (error ? reject(error) : resolve()));
      });
      send({ subject, id, error: refusal && `worker ${index + 1}: ${refusal.message}` });
      return decided;
    },
    applyDecision({ subject, id, error, isOvertaken }: Vote): void {
      const decide = pendingVotes.get(`${subject} ${id}`);
      pendingVotes.delete(`${subject} ${id}`);
      decide?.(createRefusal(error, isOvertaken));
    },
    /** Checks which version this worker has and responds with that, unless it has voted on the subject meanwhile. */
    async lookFor({ subject, id }: Vote): Promise<void> {
      const check = { subject, hasVoted: false };
      checks.add(check);
      const version = await look(subject).catch(
        (error: Error): SeenVersion => ({ problem: error.message }),
      );
      checks.delete(check);
      if (check.hasVoted || pendingVotes.has(`${subject} ${id}`)) return;
      const why = `worker ${index + 1}: ${version.problem ?? `it sees a different version of ${subject}`}`;
      send({ subject, id, error: version.id === id ? undefined : why, isAnswer: true });
    },
    onLook(next: typeof look): void {
      look = next;
    },
  };
}

function createRefusal(error: string | undefined, isOvertaken = false): Error | undefined {
  if (error === undefined) return undefined;
  return isOvertaken ? new PorticoError("conflict", error) : new Error(error);
}
