/** Adding work: all items of a transaction go in together, and then each of their lanes comes ready once. */
import { type Deferred, insertion, type Operation, type Param, toJson, type Transaction } from "../operation.ts";
import type { NewItem } from "../types.ts";
import { holdLane, type LaneOpening, openLanes } from "./lanes.ts";

interface Addition {
  item: NewItem;
  runAt: number;
  now: number;
  row: Param[];
  seq: number;
}

const insertItems = insertion<{ id: string; seq: number }>(
  "INSERT INTO items (id, kind, lane, state, body, max_attempts, created_at, run_at)",
  "(?, ?, ?, 'queued', ?, ?, ?, ?)",
  "ON CONFLICT (id) DO NOTHING RETURNING id, seq",
);

class NewItems implements Deferred {
  readonly all: Addition[] = [];

  *write(tx: Transaction): Operation<void> {
    const inserted = yield* insertItems(this.all.map(({ row }) => row));
    // where an id comes twice, the first is added
    const byId = new Map(this.all.toReversed().map((addition) => [addition.item.id, addition]));
    const added = inserted.map(({ id, seq }) => {
      const addition = byId.get(id) as Addition;
      addition.seq = seq;
      return addition;
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
  const { now } = tx;
  for (const item of items) {
    const { id, kind, lane, maxAttempts = 5 } = item;
    const runAt = item.runAt !== undefined && item.runAt > now ? item.runAt : 0;
    const row = [id, kind, lane, toJson(item.body) ?? "null", maxAttempts, now, runAt];
    all.push({ item, runAt, now, row, seq: 0 });
  }
}

/** So that two transactions that add to the same lanes never wait for each other crosswise. */
function byLane({ item: a, seq: seqA }: Addition, { item: b, seq: seqB }: Addition): number {
  return compare(a.kind, b.kind) || compare(a.lane, b.lane) || seqA - seqB;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
