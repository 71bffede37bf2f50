/** Removes old records, so that the store does not grow forever. */
import type { Store } from "../types.ts";
import type { Retention } from "../schema.ts";

const DAY_MS = 86_400_000;
const PAGE_SIZE = 500;

/** Removes the records whose retention time is over. It calls `onDeleted` for each session that it deletes. */
export async function applyRetention(
  store: Store,
  retention: Retention,
  onDeleted: (sessionId: string) => void,
): Promise<void> {
  const now = store.now();
  const pruneAfter = async (days: number, prune: (before: number) => Promise<unknown>) => {
    if (days > 0) await prune(now - days * DAY_MS);
  };
  await store.sweep();
  await pruneAfter(retention.itemsDays, (before) =>
    store.items.prune(before, ["done", "cancelled"]),
  );
  await pruneAfter(retention.deadDays, (before) => store.items.prune(before, ["dead"]));
  await pruneAfter(retention.deliveriesDays, (before) => store.deliveries.prune({ before }));
  await pruneAfter(retention.usageDays, (before) => store.usage.prune(before));
  await pruneAfter(retention.sessionsDays, (before) =>
    deleteTemporarySessions(store, before, onDeleted),
  );
}

/** Deletes unused sessions that are temporary. A session with a chosen name stays. */
async function deleteTemporarySessions(
  store: Store,
  before: number,
  onDeleted: (sessionId: string) => void,
): Promise<void> {
  let cursor = before;
  for (;;) {
    const page = await store.sessions.list({ before: cursor, limit: PAGE_SIZE });
    for (const { id, meta } of page)
      if (meta["temporary"] === true && (await store.sessions.delete(id))) onDeleted(id);
    const last = page.at(-1);
    if (page.length < PAGE_SIZE || !last) return;
    // The next page begins with all sessions of the last time, because this page may have ended between two of them.
    cursor = Math.min(last.updatedAt + 1, cursor - 1);
  }
}
