/** Adds a batch as a whole or not at all, and a repeated one only once. */
import { laneLock, limitLock, type Lock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import type { Batch, Dedup, Enqueued, Limit } from "../types.ts";
import { addItems } from "./additions.ts";
import { addDelivery } from "./deliveries.ts";
import { keyLock, setValue } from "./key-value.ts";
import { dedupLock, findKey, rememberKey } from "./dedup-keys.ts";
import { takeFrom } from "./limits.ts";
import { putRun, runsLock } from "./runs.ts";
import { appendMessages, putSession, sessionLock } from "./sessions.ts";

export type NewBatch = Batch & { dedup?: Dedup; limit?: Limit };

export function enqueue(batch: NewBatch): Write<Enqueued> {
  return { locks: collectEnqueueLocks(batch), run: (tx) => addOnce(tx, batch) };
}

export function collectEnqueueLocks({ dedup, limit, ...batch }: NewBatch): Lock[] {
  return [
    ...(limit ? [limitLock(limit.key)] : []),
    ...(dedup ? [dedupLock(dedup.key)] : []),
    ...collectLocks(batch),
  ];
}

/** Returns the locks that `addBatch` needs. */
export function collectLocks(batch: Batch | undefined): Lock[] {
  const { items = [], runs = [], messages = [], kv = [] } = batch ?? {};
  return [
    ...items.map(laneLock),
    ...runs.map(({ owner }) => runsLock(owner)),
    ...messages.map(({ session }) => sessionLock(session)),
    ...kv.map(({ namespace, key }) => keyLock(namespace, key)),
  ];
}

export function* addBatch(tx: Transaction, batch: Batch | undefined): Operation<void> {
  if (!batch) return;
  addItems(tx, batch.items ?? []);
  for (const delivery of batch.deliveries ?? []) addDelivery(tx, delivery);
  for (const entry of batch.runs ?? []) yield* putRun(tx, entry);
  for (const part of batch.messages ?? []) {
    if (part.messages.length > 0) yield* appendMessages(tx, part.session, part.messages);
    if (part.meta) yield* putSession(tx, part.session, part.meta);
  }
  for (const entry of batch.kv ?? []) yield* setValue(tx, entry);
}

/** A duplicate takes nothing from the limit, and the key of a refused batch is not remembered. */
function* addOnce(tx: Transaction, batch: NewBatch): Operation<Enqueued> {
  const { dedup, limit } = batch;
  const duplicate = dedup && (yield* findKey(tx, dedup.key));
  const take = limit && (yield* takeFrom(tx, limit, duplicate ? 0 : 1));
  if (duplicate || take?.allowed === false) return { duplicate, limit: take };
  if (dedup) rememberKey(tx, dedup);
  yield* addBatch(tx, batch);
  return { limit: take };
}
