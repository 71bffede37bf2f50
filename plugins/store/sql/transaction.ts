/** What the writes share that go into one transaction of a database. They run one after the other. */
import { type Lock, MissingLock } from "./locks.ts";
import type { Deferred, Operation, Step, Transaction, Write } from "./operation.ts";

export class SharedTransaction implements Transaction {
  now = 0;
  /** The kinds of work that may have become claimable. */
  readonly touched = new Set<string>();
  readonly #deferred = new Map<new () => Deferred, Deferred>();
  /** Of the write that runs: what it has declared, and what it was given by `TryLocks`. */
  #locks = new Set<Lock>();

  require(lock: Lock): void {
    if (!this.#locks.has(lock)) throw new MissingLock(lock);
  }

  touch(kind: string): void {
    this.touched.add(kind);
  }

  deferred<D extends Deferred>(kind: new () => D): D {
    const known = this.#deferred.get(kind);
    if (known) return known as D;
    const created = new kind();
    this.#deferred.set(kind, created);
    return created;
  }

  /** The locks that a write needs. */
  *locksOf({ locks }: Write<unknown>, now: number): Operation<readonly Lock[]> {
    if (typeof locks !== "function") return locks;
    this.now = now;
    return yield* locks(this);
  }

  /** A write, once its locks are held. Its queries see what others have put off as written. */
  perform<T>(write: Write<T>, locks: readonly Lock[], now: number): Operation<T> {
    this.now = now;
    this.#locks = new Set(locks);
    return this.#inSteps(write.run(this));
  }

  read<T>(operation: (tx: Transaction) => Operation<T>, now: number): Operation<T> {
    this.now = now;
    return operation(this);
  }

  *#inSteps<T>(operation: Operation<T>): Operation<T> {
    let step = operation.next();
    while (!step.done) {
      if (readsDeferred(step.value)) yield* this.end();
      const result = yield step.value;
      if ("tryLocks" in step.value)
        for (const { name } of result.rows) this.#locks.add(String(name));
      step = operation.next(result);
    }
    return step.value;
  }

  /** Writes what was put off: before the commit. */
  *end(): Operation<void> {
    if (this.#deferred.size === 0) return;
    const all = [...this.#deferred.values()];
    this.#deferred.clear();
    for (const each of all) yield* each.write(this);
  }
}

function readsDeferred(step: Step): boolean {
  return "sql" in step && step.apart !== true;
}
