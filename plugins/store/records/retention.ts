/** Removes what is old, so that the store does not grow for ever. */
import type { Store } from "../types.ts";
import type { Retention } from "../schema.ts";

const DAY_MS = 86_400_000;
const PAGE = 500;

/** `forgotten` hears of each session that goes. */
export async function applyRetention(
  store: Store,
  retention: Retention,
  forgotten: (sessionId: string) => void,
): Promise<void> {
  const now = store.now();
  const older = async (days: number, forget: (before: number) => Promise<unknown>) => {
    if (days > 0) await forget(now - days * DAY_MS);
  };
  await store.sweep();
  await older(retention.itemsDays, (before) => store.items.prune(before, ["done", "cancelled"]));
  await older(retention.deadDays, (before) => store.items.prune(before, ["dead"]));
  await older(retention.deliveriesDays, (before) => store.deliveries.prune({ before }));
  await older(retention.usageDays, (before) => store.usage.prune(before));
  await older(retention.sessionsDays, (before) => forgetSessions(store, before, forgotten));
}

/** A session with a chosen name stays. */
async function forgetSessions(
  store: Store,
  before: number,
  forgotten: (sessionId: string) => void,
): Promise<void> {
  let cursor = before;
  for (;;) {
    const page = await store.sessions.list({ before: cursor, limit: PAGE });
    for (const { id, meta } of page)
      if (meta["temporary"] === true && (await store.sessions.delete(id))) forgotten(id);
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    cursor = last.updatedAt;
  }
}
