/**
 * How deliveries lie in their table. Those that one transaction adds with the same source, outcome and time share a row, a
 * block: under load a row for each, with its indexes, costs as much as the work that comes with it. A block's id is the
 * greatest in it, its `first_id` the least; the row of a single delivery has none.
 */
import type { Deferred, Operation, Param } from "../../sql/operation.ts";
import { all, first, fromJson, insertion, optional, run } from "../../sql/query.ts";
import type { Delivery } from "../../types.ts";

/** Fewer have a row each. */
const LEAST = 4;
/** Characters of a delivery in a block: whoever looks for one reads all of it. */
const LONGEST = 4096;
/** Both engines and JavaScript have the same order of such ids. */
const PLAIN_ID = /^[\w.:-]+$/;

export interface Addition {
  id: string;
  at: number;
  source: string;
  outcome: string;
  itemId: string | null;
  /** As JSON. */
  meta: string;
  payload: string | null;
}

export interface DeliveryRow {
  id: string;
  first_id: string | null;
  at: number;
  source: string;
  outcome: string;
  item_id: string | null;
  meta: string;
  payload?: string | null;
}

/** The `meta` of a block. */
interface BlockMeta {
  ids: string[];
  itemIds: (string | null)[];
  /** Without a head, as earlier versions have written them; with one, what of their JSON lies between head and tail. */
  metas: readonly Record<string, unknown>[] | readonly string[];
  head?: string;
  tail?: string;
}

/** Of a row, whose payloads need not have been read. */
export function deliveriesIn(row: DeliveryRow): Delivery[] {
  const { at, source, outcome } = row;
  if (row.first_id === null) {
    const meta = fromJson(row.meta) as Record<string, unknown>;
    return [{ id: row.id, at, source, outcome, itemId: optional(row.item_id), meta }];
  }
  const { ids, itemIds, metas, head, tail } = fromJson(row.meta) as BlockMeta;
  const metaAt = (i: number) =>
    head === undefined ? metas[i] : JSON.parse(head + metas[i] + tail);
  return ids.map((id, i) => ({
    id,
    at,
    source,
    outcome,
    itemId: optional(itemIds[i]),
    meta: metaAt(i),
  }));
}

/** Of the delivery at this place in a row. */
export function payloadIn({ first_id, payload }: DeliveryRow, place: number): string | undefined {
  if (payload == null) return undefined;
  return first_id === null ? payload : optional((fromJson(payload) as (string | null)[])[place]);
}

const insertSingles = insertion(
  "INSERT INTO deliveries (source, outcome, at, id, item_id, meta, payload)",
  "(?, ?, ?, ?, ?, ?, ?)",
  "ON CONFLICT (id) DO NOTHING",
  3,
);

export class NewDeliveries implements Deferred {
  readonly all: Addition[] = [];

  *write(): Operation<void> {
    const newest =
      (yield* first<{ id: string | null }>("SELECT MAX(id) AS id FROM deliveries"))?.id ?? "";
    const ordered = this.all.sort(byId);
    const known = yield* idsInBlocks(ordered.filter(({ id }) => id <= newest));
    const blocks: Addition[][] = [];
    const singles: Addition[] = [];
    let last: string | undefined;
    for (const one of ordered) {
      const { id } = one;
      if (id === last || known?.has(id)) continue;
      last = id;
      // one that may have a row already goes in unless it has
      if (id <= newest || !isSmall(one) || !PLAIN_ID.test(id)) singles.push(one);
      else {
        const block = blocks.find(([head]) => isAlike(head!, one));
        if (block) block.push(one);
        else blocks.push([one]);
      }
    }
    for (const block of blocks) {
      if (block.length < LEAST) singles.push(...block);
      else yield* insertBlock(block);
    }
    yield* insertSingles(singles.map(single));
  }
}

function byId(a: Addition, b: Addition): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function isSmall({ meta, payload }: Addition): boolean {
  return meta.length + (payload === null ? 0 : payload.length) <= LONGEST;
}

function isAlike(a: Addition, b: Addition): boolean {
  return a.at === b.at && a.source === b.source && a.outcome === b.outcome;
}

function single({ id, at, source, outcome, itemId, meta, payload }: Addition): Param[] {
  return [source, outcome, at, id, itemId, meta, payload];
}

/** `block`: in the order of their ids. */
function insertBlock(block: readonly Addition[]): Operation<number> {
  const { at, source, outcome } = block[0]!;
  const ids: string[] = [];
  const itemIds: (string | null)[] = [];
  const payloads: (string | null)[] = [];
  for (const { id, itemId, payload } of block) {
    ids.push(id);
    itemIds.push(itemId);
    payloads.push(payload);
  }
  const meta: BlockMeta = { ids, itemIds, ...parted(block.map(({ meta }) => meta)) };
  return run(
    "INSERT INTO deliveries (id, first_id, at, source, outcome, size, meta, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ids.at(-1)!,
    ids[0]!,
    at,
    source,
    outcome,
    ids.length,
    JSON.stringify(meta),
    JSON.stringify(payloads),
  );
}

/** What all begin and end with is kept once: deliveries of one sender differ in little. */
function parted(texts: readonly string[]): Pick<BlockMeta, "head" | "metas" | "tail"> {
  const first = texts[0]!;
  let head = first.length;
  // in one go, which is many times as fast as by the character: most have as much in common as those before
  for (const text of texts)
    if (text.slice(0, head) !== first.slice(0, head))
      head = countWhile(head, (i) => text.charCodeAt(i) === first.charCodeAt(i));
  let tail = first.length - head;
  for (const text of texts) {
    const most = Math.min(tail, text.length - head);
    if (most < tail || text.slice(text.length - tail) !== first.slice(first.length - tail))
      tail = countWhile(
        most,
        (i) => text.charCodeAt(text.length - 1 - i) === first.charCodeAt(first.length - 1 - i),
      );
  }
  return {
    head: first.slice(0, head),
    metas: texts.map((text) => text.slice(head, text.length - tail)),
    tail: first.slice(first.length - tail),
  };
}

function countWhile(most: number, holds: (i: number) => boolean): number {
  let i = 0;
  while (i < most && holds(i)) i++;
  return i;
}

/** Of all blocks that one of these, in order, may be in. */
function* idsInBlocks(some: readonly Addition[]): Operation<ReadonlySet<string> | undefined> {
  const [least] = some;
  if (!least) return undefined;
  const greatest = some.at(-1)!;
  const sql = "SELECT meta FROM deliveries WHERE id >= ? AND first_id <= ?";
  const rows = yield* all<{ meta: string }>(sql, least.id, greatest.id);
  return new Set(rows.flatMap(({ meta }) => (fromJson(meta) as BlockMeta).ids));
}
