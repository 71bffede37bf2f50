/** Rate limits: a log of hits that slides with the clock. */
import { first, type Operation, run, type Transaction } from "../operation.ts";
import type { Take } from "../types.ts";

/** Above this many hits the log keeps slots instead of single milliseconds. */
const EXACT = 1000;
const SLOTS = 100;

/** Hits as `[time, count]`, oldest first. A slot's time is its last millisecond, so that it never expires early. */
type Hits = [at: number, count: number][];

export function* take(tx: Transaction, key: string, cost: number, max: number, windowMs: number): Operation<Take> {
  const row = yield* first<{ hits: string }>("SELECT hits FROM limits WHERE key = ?", key);
  const known = row ? (JSON.parse(row.hits) as Hits) : [];
  const newestKnown = known.at(-1)?.[0] ?? 0;
  // a clock that stepped back: keep the distances between hits instead of locking the key until the clock has caught up
  const back = newestKnown - tx.now > windowMs ? newestKnown - tx.now : 0;
  const hits = slide(known, back, tx.now - windowMs);
  const used = hits.reduce((sum, [, count]) => sum + count, 0);
  const allowed = used + cost <= max;
  if (allowed && cost > 0) {
    const slotMs = max <= EXACT ? 1 : Math.max(1, Math.floor(windowMs / SLOTS));
    const at = (Math.floor(tx.now / slotMs) + 1) * slotMs - 1;
    const last = hits.at(-1);
    if (last && last[0] >= at) last[1] += cost;
    else hits.push([at, cost]);
  }
  const newest = hits.at(-1)?.[0];
  if (newest !== undefined && ((allowed && cost > 0) || back > 0)) {
    yield* run(
      `INSERT INTO limits (key, hits, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET hits = excluded.hits, expires_at = excluded.expires_at`,
      key,
      JSON.stringify(hits),
      newest + windowMs + 1,
    );
  }
  return {
    allowed,
    limit: max,
    remaining: Math.max(0, max - used - (allowed ? cost : 0)),
    retryAfterMs: allowed ? 0 : waitFor(hits, used + cost - max, tx.now, windowMs),
    resetMs: newest === undefined ? 0 : Math.max(0, newest + windowMs + 1 - tx.now),
  };
}

function slide(hits: Hits, back: number, since: number): Hits {
  return hits.map(([at, count]): [number, number] => [at - back, count]).filter(([at]) => at >= since);
}

/** How long until `excess` hits have left the window. */
function waitFor(hits: Hits, excess: number, now: number, windowMs: number): number {
  let left = excess;
  for (const [at, count] of hits) {
    left -= count;
    if (left <= 0) return Math.max(1, at + windowMs + 1 - now);
  }
  return windowMs;
}
