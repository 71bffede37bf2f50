/** Adding work: all items of a transaction go in together, and then each of their lanes comes ready once. */
import { type Deferred, insertAll, type Operation, toJson, type Transaction } from "../operation.ts";
import type { NewItem } from "../types.ts";
import { holdLane, type LaneOpening, openLanes } from "./lanes.ts";

interface Addition {
  item: NewItem;
  body: string;
  runAt: number;
  now: number;
}

class NewItems implements Deferred {
  readonly all: Addition[] = [];

  *write(tx: Transaction): Operation<void> {
    const inserted = yield* insertAll<{ id: string; seq: number }>(
      "INSERT INTO items (id, kind, lane, state, body, max_attempts, created_at, run_at)",
      "(?, ?, ?, 'queued', ?, ?, ?, ?)",
      "ON CONFLICT (id) DO NOTHING RETURNING id, seq",
      this.all.map(({ item: { id, kind, lane, maxAttempts = 5 }, body, runAt, now }) => {
        return [id, kind, lane, body, maxAttempts, now, runAt];
      }),
    );
    // each id once: what is known already, or twice in here, was not added
    const seqs = new Map(inserted.map(({ id, seq }) => [id, seq]));
    const added = this.all.flatMap(({ item, runAt, now }) => {
      const seq = seqs.get(item.id);
      return seq !== undefined && seqs.delete(item.id) ? { item, runAt, now, seq } : [];
    });
    let openings: LaneOpening[] = [];
    for (const { item, runAt, now, seq } of added.sort(byLane)) {
      const { kind, lane, settle } = item;
      const last = openings.at(-1);
      if (settle) {
        yield* openLanes(tx, openings);
        openings = [];
        yield* holdLane(tx, item, seq, settle, now);
      } else if (last?.lane === lane && last.kind === kind) {
        last.readyAt = Math.min(last.readyAt, runAt);
      } else openings.push({ kind, lane, readyAt: runAt, seq, since: now });
    }
    yield* openLanes(tx, openings);
  }
}

export function addItems(tx: Transaction, items: readonly NewItem[]): void {
  const { all } = tx.deferred(NewItems);
  for (const item of items) {
    const runAt = item.runAt !== undefined && item.runAt > tx.now ? item.runAt : 0;
    all.push({ item, body: toJson(item.body) ?? "null", runAt, now: tx.now });
  }
}

/** So that two transactions that add to the same lanes never wait for each other crosswise. */
function byLane({ item: a }: { item: NewItem }, { item: b }: { item: NewItem }): number {
  return compare(a.kind, b.kind) || compare(a.lane, b.lane);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
