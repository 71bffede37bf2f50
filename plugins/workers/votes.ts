/** A worker's part in what all decide: it votes for what it has ready, and says what it has when it is asked. */
import { PorticoError, type SeenVersion } from "portico";
import type { Vote } from "./ballots.ts";

export function createVotes(index: number, send: (vote: Vote) => void) {
  /** Until they are decided, by what they are about. */
  const waiting = new Map<string, (error?: Error) => void>();
  /** What it is asked for and looks at now. */
  const looks = new Set<{ subject: string; voted: boolean }>();
  let look = async (_subject: string): Promise<SeenVersion> => ({});

  return {
    cast(subject: string, id: string, refusal?: Error): Promise<void> {
      for (const one of looks) one.voted ||= one.subject === subject;
      const decided = new Promise<void>((resolve, reject) => {
        waiting.set(`${subject} ${id}`, (error) => (error ? reject(error) : resolve()));
      });
      send({ subject, id, error: refusal && `worker ${index + 1}: ${refusal.message}` });
      return decided;
    },
    decided({ subject, id, error, isOvertaken }: Vote): void {
      const decide = waiting.get(`${subject} ${id}`);
      waiting.delete(`${subject} ${id}`);
      decide?.(refusalOf(error, isOvertaken));
    },
    /** One that has it already says so; one that still does not see it does not have it. A vote is an answer too. */
    async lookFor({ subject, id }: Vote): Promise<void> {
      const one = { subject, voted: false };
      looks.add(one);
      const seen = await look(subject).catch(
        (error: Error): SeenVersion => ({ problem: error.message }),
      );
      looks.delete(one);
      if (one.voted || waiting.has(`${subject} ${id}`)) return;
      const why = `worker ${index + 1}: ${seen.problem ?? "it has another version"}`;
      send({ subject, id, error: seen.id === id ? undefined : why, isAnswer: true });
    },
    onLook(next: typeof look): void {
      look = next;
    },
  };
}

function refusalOf(error: string | undefined, isOvertaken = false): Error | undefined {
  if (error === undefined) return undefined;
  return isOvertaken ? new PorticoError("conflict", error) : new Error(error);
}
