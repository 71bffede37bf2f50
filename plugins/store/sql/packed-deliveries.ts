/**
 * Earlier versions packed deliveries that came together into one row, a block. Its `meta` held the ids, and of each
 * delivery's own `meta` what lies between the beginning and the end that all have in common. A migration gives each
 * delivery a row of its own.
 */
import type { Operation } from "./operation.ts";
import { first, fromJson, run } from "./query.ts";

interface Block {
  id: string;
  at: number;
  source: string;
  outcome: string;
  meta: string;
  payload: string | null;
}

interface BlockMeta {
  ids: string[];
  itemIds: (string | null)[];
  /** Whole objects where there is no `head`, else the middles of their JSON. */
  metas: readonly unknown[];
  head?: string;
  tail?: string;
}

export function* unpackDeliveries(): Operation<void> {
  for (;;) {
    const block = yield* first<Block>(
      "SELECT * FROM deliveries WHERE first_id IS NOT NULL LIMIT 1",
    );
    if (!block) return;
    yield* run("DELETE FROM deliveries WHERE id = ?", block.id);
    yield* insertEach(block);
  }
}

function* insertEach({ at, source, outcome, meta, payload }: Block): Operation<void> {
  const { ids, itemIds, metas, head, tail } = fromJson(meta) as BlockMeta;
  const payloads = (fromJson(payload) ?? []) as (string | null)[];
  for (const [i, id] of ids.entries()) {
    const own = head === undefined ? JSON.stringify(metas[i]) : `${head}${metas[i]}${tail}`;
    yield* run(
      `INSERT INTO deliveries (id, at, source, outcome, item_id, meta, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING`,
      id,
      at,
      source,
      outcome,
      itemIds[i] ?? null,
      own,
      payloads[i] ?? null,
    );
  }
}
