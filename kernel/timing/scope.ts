import { asError } from "../errors.ts";
import { withDeadline } from "./deadline.ts";
import type { Dispose } from "../contract/index.ts";

/** The time that a disposal waits for one undo. */
export const undoLimitMs = 5_000;

interface Registration {
  label: string;
  undo: Dispose;
  /** True if it has an effect on others, like a handler or a route. */
  isEffect: boolean;
}

interface StagedEffect {
  label: string;
  register: () => Dispose;
  undo?: Dispose;
}

/**
 * The registrations of one owner, with an undo for each, which runs exactly once. A disposal takes back all effects in
 * one tick, and then runs the other undos one after another, from the last to the first.
 */
export class Scope {
  #registrations: Registration[] = [];
  #controller = new AbortController();
  #staged: Set<StagedEffect> | undefined = new Set();

  /** Aborted when the disposal begins. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The labels of the registrations, oldest first. */
  get effects(): string[] {
    return this.#registrations.map(({ label }) => label);
  }

  /** Registers an undo. On a disposed scope it runs at once. The returned function runs it early. */
  add(label: string, undo: Dispose): Dispose {
    return this.#register({ label, undo, isEffect: false });
  }

  /**
   * Registers an effect when `takeUp` is called, or now if it has been. The returned function undoes it in either case.
   */
  stage(label: string, register: () => Dispose): Dispose {
    if (!this.#staged) return this.#register({ label, undo: register(), isEffect: true });
    const effect: StagedEffect = { label, register };
    this.#staged.add(effect);
    return () => {
      this.#staged?.delete(effect);
      return effect.undo?.();
    };
  }

  /** Registers the staged effects, in the order in which they were staged. Before this, none has an effect. */
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
   * Runs every undo, even if one throws or takes longer than `limitMs`, and returns the errors. Effects end within this
   * tick, so that a task that ends slowly does not leave a handler of the old version running next to that of the new
   * one.
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
      const undoing = runUndo(last, limitMs, report);
      // Synchronous undos are not awaited, so all of them up to the first asynchronous one run within this tick.
      if (undoing) await undoing;
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

/** Runs one undo. Returns a promise only if it takes time. Never throws or rejects. */
function runUndo(
  { label, undo }: Registration,
  limitMs: number,
  report: (error: unknown) => void,
): Promise<void> | undefined {
  const late = () => new Error(`"${label}" could not be undone within ${limitMs} ms`);
  try {
    const undoing = undo();
    return undoing ? withDeadline(undoing, limitMs, late).catch(report) : undefined;
  } catch (error) {
    report(error);
    return undefined;
  }
}
