/** Limits the size of the stored responses of one client key: the oldest ones make room for the newest. */
import type { Store } from "portico/store";

/** One stored response, read from its row in the store's list. */
interface Entry {
  row: string;
  id: string;
  bytes: number;
}

export interface Quota {
  /** Returns false if the size exceeds the whole quota. */
  fits(bytes: number): boolean;
  /** Counts a stored response. Resolves with the ids of the responses to delete for it, oldest first. */
  add(owner: string, id: string, bytes: number, ttlMs: number): Promise<string[]>;
  remove(owner: string, id: string): Promise<void>;
}

export function createQuota(
  kv: () => Store["kv"],
  now: () => number,
  maxBytes: () => number,
): Quota {
  /** Bytes by owner. Another gateway may have added more, which is noticed when this total exceeds the quota. */
  const totals = new Map<string, number>();
  const listOf = (owner: string) => `${owner}.sizes`;

  async function readEntries(owner: string): Promise<Entry[]> {
    return (await kv().list(listOf(owner))).flatMap((row) => {
      const [, id, bytes] = row.split(" ");
      return id === undefined ? [] : [{ row, id, bytes: Number(bytes) || 0 }];
    });
  }

  /** Frees an eighth of the quota at once: to read thousands of rows for each new response would cost far more. */
  async function makeRoom(owner: string, newest: string): Promise<string[]> {
    const all = await readEntries(owner);
    let total = sum(all);
    const limit = total > maxBytes() ? (maxBytes() / 8) * 7 : total;
    const evicted: string[] = [];
    for (const entry of all) {
      if (total <= limit) break;
      if (entry.id === newest) continue;
      await kv().delete(listOf(owner), entry.row);
      total -= entry.bytes;
      evicted.push(entry.id);
    }
    totals.set(owner, total);
    return evicted;
  }

  return {
    fits: (bytes) => bytes <= maxBytes(),
    async add(owner, id, bytes, ttlMs) {
      // The store lists rows in the order of their names, so each name begins with the time.
      const row = `${now().toString().padStart(16, "0")} ${id} ${bytes}`;
      await kv().set(listOf(owner), row, null, { ttlMs });
      const total = totals.get(owner);
      if (total !== undefined) totals.set(owner, total + bytes);
      return total === undefined || total + bytes > maxBytes() ? await makeRoom(owner, id) : [];
    },
    async remove(owner, id) {
      const entry = (await readEntries(owner)).find((candidate) => candidate.id === id);
      if (entry === undefined) return;
      await kv().delete(listOf(owner), entry.row);
      totals.delete(owner);
    },
  };
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { bytes }) => total + bytes, 0);
}
