/** Rate limits over a log of hits in a sliding window. */
import { shortenKey } from "../records/long-keys.ts";
import { limitLock } from "../sql/locks.ts";
import type { Deferred, Operation, Transaction, Write } from "../sql/operation.ts";
import { insertion } from "../sql/query.ts";
import type { Limit, Take } from "../types.ts";

/** For limits above this number of hits, the log keeps slots instead of single milliseconds. */
const MAX_EXACT = 1000;
const SLOTS = 100;

/** Hits as `[time, count]`, oldest first. A slot's time is its last millisecond, so that it never expires early. */
type Hits = [at: number, count: number][];

export interface HitLog {
  hits: Hits;
  /** The sum of all hits. */
  used: number;
  /** Set if the log has changed. */
  expiresAt?: number;
}

const upsertLogs = insertion(
  "INSERT INTO limits (key, hits, expires_at)",
  "(?, ?, ?)",
  "ON CONFLICT (key) DO UPDATE SET hits = excluded.hits, expires_at = excluded.expires_at",
);

/** The logs that a transaction has read: each is read once and written once. */
class HitLogs implements Deferred {
  readonly byKey = new Map<string, HitLog>();

  *write(): Operation<void> {
    const rows = [...this.byKey].flatMap(([key, { hits, expiresAt }]) =>
      expiresAt === undefined ? [] : [[shortenKey(key), JSON.stringify(hits), expiresAt] as const],
    );
    yield* upsertLogs(rows);
  }
}

export function take(limit: Limit, cost: number): Write<Take> {
  return { locks: [limitLock(limit.key)], isSoft: true, run: (tx) => takeFrom(tx, limit, cost) };
}

export function* takeFrom(tx: Transaction, limit: Limit, cost: number): Operation<Take> {
  return countHit(yield* getLog(tx, limit.key), tx.now, cost, limit);
}

/** Returns the logs of several keys. */
export function* readHitLogs(
  tx: Transaction,
  keys: readonly string[],
): Operation<ReadonlyMap<string, HitLog>> {
  const logs = new Map<string, HitLog>();
  for (const key of keys) logs.set(key, yield* getLog(tx, key));
  return logs;
}

function* getLog(tx: Transaction, key: string): Operation<HitLog> {
  tx.require(limitLock(key));
  const { byKey } = tx.deferred(HitLogs);
  return byKey.get(key) ?? (yield* readLog(byKey, key));
}

/** Returns the sum of the hits in the window that ends now. */
export function usedWithin(log: HitLog, now: number, windowMs: number): number {
  advanceLog(log, now, windowMs);
  return log.used;
}

/** Adds an amount that was used, without a limit. */
export function addAmount(log: HitLog, now: number, amount: number, windowMs: number): void {
  advanceLog(log, now, windowMs);
  if (amount <= 0) return;
  addHit(log, now, amount, Math.max(1, Math.floor(windowMs / SLOTS)));
  log.expiresAt = getNewestTime(log.hits) + windowMs + 1;
}

function countHit(log: HitLog, now: number, cost: number, { max, windowMs }: Limit): Take {
  const { hits } = log;
  const shiftMs = advanceLog(log, now, windowMs);
  const since = now - windowMs;
  const { used } = log;
  const allowed = used + cost <= max;
  const isCounted = allowed && cost > 0;
  if (isCounted)
    addHit(log, now, cost, max <= MAX_EXACT ? 1 : Math.max(1, Math.floor(windowMs / SLOTS)));
  if (isCounted || shiftMs > 0) log.expiresAt = getNewestTime(hits) + windowMs + 1;
  const newest = getNewestTime(hits);
  return {
    allowed,
    limit: max,
    remaining: Math.max(0, max - used - (allowed ? cost : 0)),
    retryAfterMs: allowed ? 0 : computeWait(hits, used + cost - max, now, windowMs),
    resetMs: newest < since ? 0 : Math.min(windowMs, Math.max(0, newest + windowMs + 1 - now)),
  };
}

/**
 * Removes the hits that are older than the window. If the clock has stepped back, it moves the hits back at the same
 * distances, so that they do not block the key until the clock has caught up. Returns the shift in milliseconds.
 */
function advanceLog(log: HitLog, now: number, windowMs: number): number {
  const newest = getNewestTime(log.hits);
  const shiftMs = newest - now > windowMs ? newest - now : 0;
  if (shiftMs > 0) for (const hit of log.hits) hit[0] -= shiftMs;
  removeBefore(log, now - windowMs);
  return shiftMs;
}

function* readLog(byKey: Map<string, HitLog>, longKey: string): Operation<HitLog> {
  const key = shortenKey(longKey);
  const { rows } = yield {
    sql: "SELECT hits FROM limits WHERE key = ?",
    params: [key],
    isSingle: true,
    isIndependent: true,
  };
  const hits = rows[0] ? (JSON.parse(rows[0].hits as string) as Hits) : [];
  const log = { hits, used: hits.reduce((sum, [, count]) => sum + count, 0) };
  byKey.set(longKey, log);
  return log;
}

function addHit(log: HitLog, now: number, cost: number, slotMs: number): void {
  const { hits } = log;
  log.used += cost;
  const at = (Math.floor(now / slotMs) + 1) * slotMs - 1;
  const last = hits.at(-1);
  if (last && last[0] >= at) last[1] += cost;
  else hits.push([at, cost]);
}

export function getNewestTime(hits: Hits): number {
  return hits.at(-1)?.[0] ?? 0;
}

function removeBefore(log: HitLog, since: number): void {
  const { hits } = log;
  for (let first = hits[0]; first && first[0] < since; first = hits[0]) {
    log.used -= first[1];
    hits.shift();
  }
}

/** Returns the milliseconds until `excess` hits have left the window. */
export function computeWait(hits: Hits, excess: number, now: number, windowMs: number): number {
  let remaining = excess;
  for (const [at, count] of hits) {
    if (at < now - windowMs) continue;
    remaining -= count;
    if (remaining <= 0) return Math.max(1, at + windowMs + 1 - now);
  }
  return windowMs;
}
