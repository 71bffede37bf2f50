import { asError } from "../errors.ts";
import { withDeadline } from "./deadline.ts";
import type { Dispose } from "../contract/index.ts";

/** How long a disposal waits for one undo. */
export const undoLimitMs = 5_000;

interface Staged {
  label: string;
  register: () => Dispose;
  undo?: Dispose;
}

/** What one owner has registered: an ordered list of undos, run last to first, each exactly once. */
export class Scope {
  #undos: { label: string; undo: Dispose }[] = [];
  #controller = new AbortController();
  #staged: Set<Staged> | undefined = new Set();

  /** Aborted when disposal begins. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The labels of what is registered, oldest first. */
  get effects(): string[] {
    return this.#undos.map((entry) => entry.label);
  }

  /** Registers an undo. On a disposed scope it is undone at once. The result undoes it early. */
  add(label: string, undo: Dispose): Dispose {
    if (this.signal.aborted) {
      void undo();
      return () => {};
    }
    const entry = { label, undo };
    this.#undos.push(entry);
    return () => {
      const at = this.#undos.indexOf(entry);
      if (at < 0) return;
      this.#undos.splice(at, 1);
      return undo();
    };
  }

  /** Registers once all that was staged is taken up, or now where it has been. The result undoes it in either case. */
  stage(label: string, register: () => Dispose): Dispose {
    if (!this.#staged) return this.add(label, register());
    const one: Staged = { label, register };
    this.#staged.add(one);
    return () => {
      this.#staged?.delete(one);
      return one.undo?.();
    };
  }

  /** What was staged takes effect, in the order of its coming: before this, nothing of it does. */
  takeUp(): void {
    const staged = this.#staged ?? [];
    this.#staged = undefined;
    for (const one of staged) one.undo = this.add(one.label, one.register());
  }

  /** Runs every undo, also when one throws or is not done after `limitMs`; the errors are answered. */
  async dispose(limitMs = undoLimitMs): Promise<Error[]> {
    this.#controller.abort();
    const errors: Error[] = [];
    for (let entry = this.#undos.pop(); entry; entry = this.#undos.pop()) {
      try {
        const { label } = entry;
        const undone = entry.undo();
        // What needs no time takes none: undos up to the first that does are done within this tick.
        if (undone)
          await withDeadline(
            undone,
            limitMs,
            () => new Error(`"${label}" could not be undone within ${limitMs} ms`),
          );
      } catch (error) {
        errors.push(asError(error));
      }
    }
    return errors;
  }
}
