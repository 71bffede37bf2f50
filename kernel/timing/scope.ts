import { asError } from "../errors.ts";
import { withDeadline } from "./deadline.ts";
import type { Dispose } from "../contract/index.ts";

/** How long a disposal waits for one undo. */
export const undoLimitMs = 5_000;

interface Registration {
  label: string;
  undo: Dispose;
  /** True if it has an effect on others, as a handler or a route has. */
  isEffect: boolean;
}

interface StagedEffect {
  label: string;
  register: () => Dispose;
  undo?: Dispose;
}

/**
 * What one owner has registered, with an undo for each, which runs exactly once. A disposal takes back all effects in one
 * tick, and then runs the other undos one after another, from the last to the first.
 */
export class Scope {
  #registrations: Registration[] = [];
  #controller = new AbortController();
  #staged: Set<StagedEffect> | undefined = new Set();

  /** Aborted when disposal begins. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The labels of what is registered, oldest first. */
  get effects(): string[] {
    return this.#registrations.map(({ label }) => label);
  }

  /** Registers an undo. On a disposed scope it is undone at once. The result undoes it early. */
  add(label: string, undo: Dispose): Dispose {
    return this.#register({ label, undo, isEffect: false });
  }

  /** Registers an effect once `takeUp` is called, or now where it has been. The result undoes it in either case. */
  stage(label: string, register: () => Dispose): Dispose {
    if (!this.#staged) return this.#register({ label, undo: register(), isEffect: true });
    const effect: StagedEffect = { label, register };
    this.#staged.add(effect);
    return () => {
      this.#staged?.delete(effect);
      return effect.undo?.();
    };
  }

  /** The staged effects begin, in the order in which they were staged. Before this, none of them does. */
  takeUp(): void {
    const staged = this.#staged ?? [];
    this.#staged = undefined;
    for (const effect of staged)
      effect.undo = this.#register({
        label: effect.label,
        undo: effect.register(),
        isEffect: true,
      });
  }

  /**
   * Runs every undo, also when one throws or is not done after `limitMs`, and returns the errors. Effects end within this
   * tick, so that a task that ends slowly does not leave a handler of the old version running beside that of the new one.
   */
  async dispose(limitMs = undoLimitMs): Promise<Error[]> {
    this.#controller.abort();
    const errors: Error[] = [];
    const report = (error: unknown) => void errors.push(asError(error));
    const effects = this.#registrations.filter(({ isEffect }) => isEffect).reverse();
    this.#registrations = this.#registrations.filter(({ isEffect }) => !isEffect);
    const ending = effects.flatMap((effect) => runUndo(effect, limitMs, report) ?? []);
    if (ending.length > 0) await Promise.all(ending);
    for (let last = this.#registrations.pop(); last; last = this.#registrations.pop()) {
      const undone = runUndo(last, limitMs, report);
      // Synchronous undos are not awaited, so all of them up to the first asynchronous one run within this tick.
      if (undone) await undone;
    }
    return errors;
  }

  #register(registration: Registration): Dispose {
    const { undo } = registration;
    if (this.signal.aborted) {
      void undo();
      return () => {};
    }
    this.#registrations.push(registration);
    return () => {
      const at = this.#registrations.indexOf(registration);
      if (at < 0) return;
      this.#registrations.splice(at, 1);
      return undo();
    };
  }
}

/** Returns a promise only where the undo takes time. It never throws or rejects. */
function runUndo(
  { label, undo }: Registration,
  limitMs: number,
  report: (error: unknown) => void,
): Promise<void> | undefined {
  const late = () => new Error(`"${label}" could not be undone within ${limitMs} ms`);
  try {
    const undone = undo();
    return undone ? withDeadline(undone, limitMs, late).catch(report) : undefined;
  } catch (error) {
    report(error);
    return undefined;
  }
}
