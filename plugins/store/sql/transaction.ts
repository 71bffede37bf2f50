/** The state that the writes in one database transaction share. They run one after the other. */
import { type Lock, MissingLock } from "./locks.ts";
import type { Deferred, Operation, Step, Transaction, Write } from "./operation.ts";

export class SharedTransaction implements Transaction {
  now = 0;
  /** The kinds of work that may have become claimable. */
  readonly claimableKinds = new Set<string>();
  readonly #deferred = new Map<new () => Deferred, Deferred>();
  /** The locks of the running write: those that it has declared, and those that it got by `TryLocks`. */
  #locks = new Set<Lock>();

  require(lock: Lock): void {
    if (!this.#locks.has(lock)) throw new MissingLock(lock);
  }

  markClaimable(kind: string): void {
    this.claimableKinds.add(kind);
  }

  deferred<D extends Deferred>(kind: new () => D): D {
    const existing = this.#deferred.get(kind);
    if (existing) return existing as D;
    const instance = new kind();
    this.#deferred.set(kind, instance);
    return instance;
  }

  /** Returns the locks that a write needs. */
  *findLocks({ locks }: Write<unknown>, now: number): Operation<readonly Lock[]> {
    if (typeof locks !== "function") return locks;
    this.now = now;
    return yield* locks(this);
  }

  /** Performs a write whose locks are held. Its queries see the deferred writes of others as performed. */
  perform<T>(write: Write<T>, locks: readonly Lock[], now: number): Operation<T> {
    this.now = now;
    this.#locks = new Set(locks);
    return this.#withDeferred(write.run(this));
  }

  read<T>(operation: (tx: Transaction) => Operation<T>, now: number): Operation<T> {
    this.now = now;
    return operation(this);
  }

  *#withDeferred<T>(operation: Operation<T>): Operation<T> {
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

  /** Performs the deferred writes, as is necessary before a commit. */
  *end(): Operation<void> {
    if (this.#deferred.size === 0) return;
    const pending = [...this.#deferred.values()];
    this.#deferred.clear();
    for (const deferred of pending) yield* deferred.write(this);
  }
}

function readsDeferred(step: Step): boolean {
  return "sql" in step && step.isIndependent !== true;
}
