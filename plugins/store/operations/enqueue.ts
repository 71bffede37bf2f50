/** Adding a batch, as a whole or not at all; a repeated one once. */
import type { Again } from "../sql/engine.ts";
import { type Operation, Settled, type Transaction } from "../sql/operation.ts";
import type { Batch, Dedup, Enqueued, Limit } from "../types.ts";
import { addItems } from "./additions.ts";
import { addDelivery } from "./deliveries/log.ts";
import { setValue } from "./key-value.ts";
import { firstUse, knownKey } from "./known.ts";
import { hold, take, takeAtOnce } from "./limits.ts";
import { putRun } from "./runs.ts";
import { appendMessages, putSession } from "./sessions.ts";
import { addUsage } from "./usage.ts";

type NewBatch = Batch & { dedup?: Dedup; limit?: Limit };

export function* addBatch(tx: Transaction, batch: Batch | undefined): Operation<void> {
  if (!batch) return;
  addRows(tx, batch);
  for (const entry of batch.runs ?? []) yield* putRun(entry);
  for (const part of batch.messages ?? []) {
    if (part.messages.length > 0) yield* appendMessages(tx, part.session, part.messages);
    if (part.meta) yield* putSession(tx, part.session, part.meta);
  }
  for (const entry of batch.kv ?? []) yield* setValue(tx, entry);
  if (batch.usage) yield* addUsage(tx, batch.usage);
}

/** What is gathered, and written with that of others. */
function addRows(tx: Transaction, { items, deliveries }: Batch): void {
  if (items) addItems(tx, items);
  if (deliveries) for (const delivery of deliveries) addDelivery(tx, delivery);
}

export function enqueue(tx: Transaction, batch: NewBatch): Operation<Enqueued> {
  const { dedup, limit, runs, messages, kv, usage } = batch;
  const isPlain = (dedup ?? runs ?? messages ?? kv ?? usage) === undefined;
  const taken = isPlain && limit ? takeAtOnce(tx, limit) : undefined;
  if (!isPlain || (limit && !taken)) return inSteps(tx, batch);
  if (taken?.allowed !== false) addRows(tx, batch);
  return Settled.of({ limit: taken });
}

function* inSteps(tx: Transaction, batch: NewBatch): Operation<Enqueued> {
  const { dedup, limit } = batch;
  // A duplicate takes nothing from the limit, and a refused first use must not be remembered: so the look comes first,
  // but not before the limit is ours: another gateway may be about to commit the first use.
  if (dedup && limit) yield* hold(tx, limit.key);
  const known = dedup && (yield* knownKey(tx, dedup.key));
  const taken = limit && (yield* take(tx, limit.key, known ? 0 : 1, limit.max, limit.windowMs));
  if (known || taken?.allowed === false) return { duplicate: known, limit: taken };
  if (dedup && !(yield* firstUse(tx, dedup))) {
    const duplicate = yield* knownKey(tx, dedup.key);
    if (duplicate) return { duplicate, limit: taken };
  }
  yield* addBatch(tx, batch);
  return { limit: taken };
}

/** How `enqueue` is done again after a crash. Not for a batch that does more than add rows to the queue and the log. */
export function againOf(batch: NewBatch): Again<Enqueued> | undefined {
  const { items = [], deliveries = [], dedup, limit, ...more } = batch;
  const isPlain =
    Object.values(more).every((part) => part === undefined) &&
    items.every(({ id, lane, kind }) => areTexts(id, lane, kind)) &&
    deliveries.every(({ id, source, outcome }) => areTexts(id, source, outcome));
  if (!isPlain) return undefined;
  const kinds = items.map(({ kind }) => kind);
  return {
    entry: batch,
    kinds,
    isNothing: ({ duplicate, limit }) => duplicate !== undefined || limit?.allowed === false,
  };
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

/** It was accepted: that is not asked again. */
export function* addAgain(tx: Transaction, entry: unknown): Operation<void> {
  const batch = entry as NewBatch;
  const { dedup, limit } = batch;
  if (limit) yield* take(tx, limit.key, 1, limit.max, limit.windowMs);
  if (dedup) yield* firstUse(tx, dedup);
  yield* addBatch(tx, batch);
}
