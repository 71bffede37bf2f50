/**
 * Earlier versions packed deliveries that arrived together into one row, a block. Its `meta` held the ids and, for each
 * delivery, the part of its own `meta` between the beginning and the end that all have in common. A migration gives each
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
  /** Whole objects without a `head`; otherwise the middle parts of their JSON. */
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
    yield* insertDeliveries(block);
  }
}

function* insertDeliveries({ at, source, outcome, meta, payload }: Block): Operation<void> {
  const { ids, itemIds, metas, head, tail } = fromJson(meta) as BlockMeta;
  const payloads = (fromJson(payload) ?? []) as (string | null)[];
  for (const [i, id] of ids.entries()) {
    const ownMeta = head === undefined ? JSON.stringify(metas[i]) : `${head}${metas[i]}${tail}`;
    yield* run(
      `INSERT INTO deliveries (id, at, source, outcome, item_id, meta, payload) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING`,
      id,
      at,
      source,
      outcome,
      itemIds[i] ?? null,
      ownMeta,
      payloads[i] ?? null,
    );
  }
}
