/** Adds work: all items of a transaction are inserted together, and then each of their lanes becomes ready once. */
import { laneLock } from "../sql/locks.ts";
import type { Deferred, Operation, Param, Transaction } from "../sql/operation.ts";
import { insertion, toJson } from "../sql/query.ts";
import type { NewItem } from "../types.ts";
import { delayLane, type LaneOpening, openLanes } from "./lanes.ts";

interface Addition {
  item: NewItem;
  runAt: number;
  now: number;
}

const DEFAULT_ATTEMPTS = 5;

const insertItems = insertion(
  "INSERT INTO items (id, kind, lane, holder, max_attempts, run_at, created_at, body, state)",
  "(?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
  "ON CONFLICT (id) DO NOTHING RETURNING id",
);

class NewItems implements Deferred {
  readonly additions: Addition[] = [];

  *write(tx: Transaction): Operation<void> {
    const openings = new Map<string, LaneOpening>();
    for (const { item, runAt, now } of yield* this.#insert()) {
      const { id, kind, lane, settle } = item;
      const key = laneLock(item);
      const opening = openings.get(key);
      if (settle) {
        // An item that was added to the lane before must count as its first waiting item.
        yield* openLanes(tx, [...openings.values()]);
        openings.clear();
        yield* delayLane(tx, item, settle, now);
      } else if (opening) opening.readyAt = Math.min(opening.readyAt, runAt);
      else openings.set(key, { id, kind, lane, readyAt: runAt, since: now });
    }
    yield* openLanes(tx, [...openings.values()]);
  }

  /** Inserts the items. Returns those whose id is new, each once. */
  *#insert(): Operation<Addition[]> {
    const { rows } = yield* insertItems(this.additions.map(toRow));
    const inserted = new Set(rows.map(({ id }) => id));
    return this.additions.filter(({ item }) => inserted.delete(item.id));
  }
}

function toRow({ item, runAt, now }: Addition): Param[] {
  const { id, kind, lane, holder = null, maxAttempts = DEFAULT_ATTEMPTS } = item;
  return [id, kind, lane, holder, maxAttempts, runAt, now, toJson(item.body) ?? "null"];
}

export function addItems(tx: Transaction, items: readonly NewItem[]): void {
  const { now } = tx;
  const { additions } = tx.deferred(NewItems);
  for (const item of items) {
    tx.require(laneLock(item));
    const runAt = item.runAt !== undefined && item.runAt > now ? item.runAt : 0;
    additions.push({ item, runAt, now });
  }
}
