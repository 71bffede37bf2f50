/** What the operations share that go into one transaction of a database. */
import type { Deferred, Operation, Transaction } from "./operation.ts";

export class SharedTransaction {
  /** The kinds of work that may have become claimable. */
  readonly touched = new Set<string>();
  readonly #deferred = new Map<new () => Deferred, Deferred>();

  /** An operation as part of this; its queries find written what others have put off. */
  *perform<T>(start: (tx: Transaction) => Operation<T>, now: number): Operation<T> {
    const tx = this.#at(now);
    const operation = start(tx);
    let step = operation.next();
    while (!step.done) {
      if (!step.value.apart && this.#deferred.size > 0) yield* this.#write(tx);
      step = operation.next(yield step.value);
    }
    return step.value;
  }

  /** Writes what was put off: before the commit. */
  *end(now: number): Operation<void> {
    yield* this.#write(this.#at(now));
  }

  *#write(tx: Transaction): Operation<void> {
    const all = [...this.#deferred.values()];
    this.#deferred.clear();
    for (const one of all) yield* one.write(tx);
  }

  #at(now: number): Transaction {
    return {
      now,
      touch: (kind) => void this.touched.add(kind),
      deferred: <D extends Deferred>(kind: new () => D): D => {
        const known = this.#deferred.get(kind) ?? new kind();
        this.#deferred.set(kind, known);
        return known as D;
      },
    };
  }
}
