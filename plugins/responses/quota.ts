/** Limits how many responses of one client key are kept: the oldest make room for the newest. */
import type { Store } from "portico/store";

/** One response that is kept, read from its row in the store's list. */
interface Entry {
  row: string;
  id: string;
  bytes: number;
}

export interface Quota {
  /** False for what is larger than all that may be kept. */
  fits(bytes: number): boolean;
  /** Counts a response that was kept. Resolves with the ids of those that have to go for it, oldest first. */
  add(owner: string, id: string, bytes: number, ttlMs: number): Promise<string[]>;
  remove(owner: string, id: string): Promise<void>;
}

export function createQuota(
  kv: () => Store["kv"],
  now: () => number,
  maxBytes: () => number,
): Quota {
  /** By owner; a gateway beside this one may have added more, which is seen when ours are too many. */
  const totals = new Map<string, number>();
  const listOf = (owner: string) => `${owner}.sizes`;

  async function entries(owner: string): Promise<Entry[]> {
    return (await kv().list(listOf(owner))).flatMap((row) => {
      const [, id, bytes] = row.split(" ");
      return id === undefined ? [] : [{ row, id, bytes: Number(bytes) || 0 }];
    });
  }

  /** An eighth of it at once: looking through thousands of small ones for each that is added would cost far more. */
  async function makeRoom(owner: string, newest: string): Promise<string[]> {
    const all = await entries(owner);
    let total = sum(all);
    const most = total > maxBytes() ? (maxBytes() / 8) * 7 : total;
    const gone: string[] = [];
    for (const entry of all) {
      if (total <= most) break;
      if (entry.id === newest) continue;
      await kv().delete(listOf(owner), entry.row);
      total -= entry.bytes;
      gone.push(entry.id);
    }
    totals.set(owner, total);
    return gone;
  }

  return {
    fits: (bytes) => bytes <= maxBytes(),
    async add(owner, id, bytes, ttlMs) {
      // Rows come in the order of their names: the time first.
      const row = `${now().toString().padStart(16, "0")} ${id} ${bytes}`;
      await kv().set(listOf(owner), row, null, { ttlMs });
      const known = totals.get(owner);
      if (known !== undefined) totals.set(owner, known + bytes);
      return known === undefined || known + bytes > maxBytes() ? await makeRoom(owner, id) : [];
    },
    async remove(owner, id) {
      const entry = (await entries(owner)).find((one) => one.id === id);
      if (entry === undefined) return;
      await kv().delete(listOf(owner), entry.row);
      totals.delete(owner);
    },
  };
}

function sum(entries: readonly Entry[]): number {
  return entries.reduce((total, { bytes }) => total + bytes, 0);
}
