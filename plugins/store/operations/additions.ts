/** Adding work: all items of a transaction go in together, and then each of their lanes comes ready once. */
import type { Deferred, Operation, Param, Transaction } from "../sql/operation.ts";
import { all, first, insertion, toJson } from "../sql/query.ts";
import type { NewItem } from "../types.ts";
import { holdLane, type LaneOpening, openLanes } from "./lanes.ts";

interface Addition {
  item: NewItem;
  runAt: number;
  now: number;
  row: Param[];
}

const insertItems = insertion(
  "INSERT INTO items (kind, lane, holder, max_attempts, run_at, created_at, id, body, state)",
  "(?, ?, ?, ?, ?, ?, ?, ?, 'queued')",
  "ON CONFLICT (id) DO NOTHING",
  6,
);

class NewItems implements Deferred {
  readonly all: Addition[] = [];

  *write(tx: Transaction): Operation<void> {
    let openings: LaneOpening[] = [];
    for (const { item, runAt, now } of (yield* this.#insert()).sort(byLane)) {
      const { id, kind, lane, settle } = item;
      const last = openings.at(-1);
      if (settle) {
        yield* openLanes(tx, openings);
        openings = [];
        yield* holdLane(tx, item, settle, now);
      } else if (last?.lane === lane && last.kind === kind) {
        last.readyAt = Math.min(last.readyAt, runAt);
      } else openings.push({ id, kind, lane, readyAt: runAt, since: now });
    }
    yield* openLanes(tx, openings);
  }

  /** Returns those that were not there before, each id once. (RETURNING would double what a row costs.) */
  *#insert(): Operation<Addition[]> {
    const before = yield* first<{ seq: number | null }>("SELECT MAX(seq) AS seq FROM items");
    if ((yield* insertItems(this.all.map(({ row }) => row))) === this.all.length) return this.all;
    const inserted = yield* all<{ id: string }>(
      "SELECT id FROM items WHERE seq > ?",
      before?.seq ?? 0,
    );
    const ids = new Set(inserted.map(({ id }) => id));
    return this.all.filter(({ item }) => ids.delete(item.id));
  }
}

export function addItems(tx: Transaction, items: readonly NewItem[]): void {
  const { now } = tx;
  const additions = tx.deferred(NewItems).all;
  for (const item of items) {
    const { id, kind, lane, holder = null, maxAttempts = 5 } = item;
    const runAt = item.runAt !== undefined && item.runAt > now ? item.runAt : 0;
    additions.push({
      item,
      runAt,
      now,
      row: [kind, lane, holder, maxAttempts, runAt, now, id, toJson(item.body) ?? "null"],
    });
  }
}

/** So that two transactions that add to the same lanes never wait for each other crosswise. */
function byLane({ item: a }: Addition, { item: b }: Addition): number {
  return compare(a.kind, b.kind) || compare(a.lane, b.lane);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
