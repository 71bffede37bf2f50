/** What the operations share that go into one transaction of a database. They run one after the other. */
import { type Deferred, type Operation, Settled, type Transaction } from "./operation.ts";

export class SharedTransaction implements Transaction {
  now = 0;
  readonly isAlone: boolean;
  /** The kinds of work that may have become claimable. */
  readonly touched = new Set<string>();
  readonly #deferred = new Map<new () => Deferred, Deferred>();

  constructor(isAlone: boolean) {
    this.isAlone = isAlone;
  }

  touch(kind: string): void {
    this.touched.add(kind);
  }

  deferred<D extends Deferred>(kind: new () => D): D {
    let known = this.#deferred.get(kind);
    if (!known) {
      known = new kind();
      this.#deferred.set(kind, known);
    }
    return known as D;
  }

  /** An operation as part of this; its queries find written what others have put off. */
  perform<T>(start: (tx: Transaction) => Operation<T>, now: number): Operation<T> {
    this.now = now;
    const operation = start(this);
    return operation instanceof Settled ? operation : this.#inSteps(operation);
  }

  *#inSteps<T>(operation: Operation<T>): Operation<T> {
    let step = operation.next();
    while (!step.done) {
      if (!step.value.apart) yield* this.end();
      step = operation.next(yield step.value);
    }
    return step.value;
  }

  /** Writes what was put off: before the commit. */
  *end(): Operation<void> {
    if (this.#deferred.size === 0) return;
    const all = [...this.#deferred.values()];
    this.#deferred.clear();
    for (const one of all) yield* one.write(this);
  }
}
