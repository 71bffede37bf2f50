/** Rate limits: a log of hits that slides with the clock. */
import { shortKey } from "../records/long-keys.ts";
import { limitLock } from "../sql/locks.ts";
import type { Deferred, Operation, Transaction, Write } from "../sql/operation.ts";
import { insertion } from "../sql/query.ts";
import type { Limit, Take } from "../types.ts";

/** Above this many hits the log keeps slots instead of single milliseconds. */
const EXACT = 1000;
const SLOTS = 100;

/** Hits as `[time, count]`, oldest first. A slot's time is its last millisecond, so that it never expires early. */
type Hits = [at: number, count: number][];

export interface Log {
  hits: Hits;
  /** Of all hits. */
  used: number;
  /** Set where it has changed. */
  expiresAt?: number;
}

const upsertLogs = insertion(
  "INSERT INTO limits (key, hits, expires_at)",
  "(?, ?, ?)",
  "ON CONFLICT (key) DO UPDATE SET hits = excluded.hits, expires_at = excluded.expires_at",
);

/** The logs that a transaction has read: each is read once and written once. */
class Logs implements Deferred {
  readonly byKey = new Map<string, Log>();

  *write(): Operation<void> {
    const rows = [...this.byKey].flatMap(([key, { hits, expiresAt }]) =>
      expiresAt === undefined ? [] : [[shortKey(key), JSON.stringify(hits), expiresAt] as const],
    );
    yield* upsertLogs(rows);
  }
}

export function take(limit: Limit, cost: number): Write<Take> {
  return { locks: [limitLock(limit.key)], soft: true, run: (tx) => takeFrom(tx, limit, cost) };
}

export function* takeFrom(tx: Transaction, limit: Limit, cost: number): Operation<Take> {
  return count(yield* logOf(tx, limit.key), tx.now, cost, limit);
}

/** The logs of several keys. */
export function* readLogs(
  tx: Transaction,
  keys: readonly string[],
): Operation<ReadonlyMap<string, Log>> {
  const logs = new Map<string, Log>();
  for (const key of keys) logs.set(key, yield* logOf(tx, key));
  return logs;
}

function* logOf(tx: Transaction, key: string): Operation<Log> {
  tx.require(limitLock(key));
  const { byKey } = tx.deferred(Logs);
  return byKey.get(key) ?? (yield* readLog(byKey, key));
}

/** What a log holds of the window that ends now. */
export function usedWithin(log: Log, now: number, windowMs: number): number {
  settleClock(log, now, windowMs);
  return log.used;
}

/** Adds an amount that was used, however much that is. */
export function addTo(log: Log, now: number, amount: number, windowMs: number): void {
  settleClock(log, now, windowMs);
  if (amount <= 0) return;
  addHit(log, now, amount, Math.max(1, Math.floor(windowMs / SLOTS)));
  log.expiresAt = newestOf(log.hits) + windowMs + 1;
}

function count(log: Log, now: number, cost: number, { max, windowMs }: Limit): Take {
  const { hits } = log;
  const back = settleClock(log, now, windowMs);
  const since = now - windowMs;
  const { used } = log;
  const allowed = used + cost <= max;
  const hit = allowed && cost > 0;
  if (hit) addHit(log, now, cost, max <= EXACT ? 1 : Math.max(1, Math.floor(windowMs / SLOTS)));
  if (hit || back > 0) log.expiresAt = newestOf(hits) + windowMs + 1;
  const newest = newestOf(hits);
  return {
    allowed,
    limit: max,
    remaining: Math.max(0, max - used - (allowed ? cost : 0)),
    retryAfterMs: allowed ? 0 : waitFor(hits, used + cost - max, now, windowMs),
    resetMs: newest < since ? 0 : Math.min(windowMs, Math.max(0, newest + windowMs + 1 - now)),
  };
}

/**
 * Forgets what is older than the window. Where the clock has stepped back, the hits move with it, at the same distances,
 * instead of locking the key until the clock has caught up. Returns by how much they moved.
 */
function settleClock(log: Log, now: number, windowMs: number): number {
  const newest = newestOf(log.hits);
  const back = newest - now > windowMs ? newest - now : 0;
  if (back > 0) for (const hit of log.hits) hit[0] -= back;
  forgetBefore(log, now - windowMs);
  return back;
}

function* readLog(byKey: Map<string, Log>, longKey: string): Operation<Log> {
  const key = shortKey(longKey);
  const { rows } = yield {
    sql: "SELECT hits FROM limits WHERE key = ?",
    params: [key],
    isSingle: true,
    apart: true,
  };
  const hits = rows[0] ? (JSON.parse(rows[0].hits as string) as Hits) : [];
  const log = { hits, used: hits.reduce((sum, [, count]) => sum + count, 0) };
  byKey.set(longKey, log);
  return log;
}

function addHit(log: Log, now: number, cost: number, slotMs: number): void {
  const { hits } = log;
  log.used += cost;
  const at = (Math.floor(now / slotMs) + 1) * slotMs - 1;
  const last = hits.at(-1);
  if (last && last[0] >= at) last[1] += cost;
  else hits.push([at, cost]);
}

export function newestOf(hits: Hits): number {
  return hits.at(-1)?.[0] ?? 0;
}

function forgetBefore(log: Log, since: number): void {
  const { hits } = log;
  for (let first = hits[0]; first && first[0] < since; first = hits[0]) {
    log.used -= first[1];
    hits.shift();
  }
}

/** How long until `excess` hits have left the window. */
export function waitFor(hits: Hits, excess: number, now: number, windowMs: number): number {
  let left = excess;
  for (const [at, count] of hits) {
    if (at < now - windowMs) continue;
    left -= count;
    if (left <= 0) return Math.max(1, at + windowMs + 1 - now);
  }
  return windowMs;
}
