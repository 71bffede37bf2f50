/** The functions that this process calls when work of a kind may have become claimable. */
export class Listeners {
  readonly #byKind = new Map<string, Set<() => void>>();

  /** Adds a listener. Returns the function that removes it. */
  readonly add = (kind: string, wake: () => void): (() => void) => {
    const listeners = this.#byKind.get(kind) ?? new Set();
    this.#byKind.set(kind, listeners.add(wake));
    return () => void listeners.delete(wake);
  };

  wake(kinds: Iterable<string>): void {
    for (const kind of kinds) for (const wake of this.#byKind.get(kind) ?? []) wake();
  }

  readonly wakeAll = (): void => {
    for (const listeners of this.#byKind.values()) for (const wake of listeners) wake();
  };
}
