/** Forgetting in time, so that the store does not grow for ever. */
import type { Store } from "portico";
import type { Retention } from "./schema.ts";

const DAY_MS = 86_400_000;
const PAGE = 500;

export async function keepHouse(store: Store, retention: Retention): Promise<void> {
  const now = store.now();
  const older = async (days: number, forget: (before: number) => Promise<unknown>) => {
    if (days > 0) await forget(now - days * DAY_MS);
  };
  await store.sweep();
  await older(retention.itemsDays, (before) => store.items.prune(before));
  await older(retention.deadDays, (before) => store.items.prune(before, { dead: true }));
  await older(retention.deliveriesDays, (before) => store.deliveries.prune({ before }));
  await older(retention.usageDays, (before) => store.usage.prune(before));
  await older(retention.sessionsDays, (before) => forgetSessions(store, before));
}

/** A session with a name of its own was made by a person and stays. */
async function forgetSessions(store: Store, before: number): Promise<void> {
  let cursor = before;
  for (;;) {
    const page = await store.sessions.list({ before: cursor, limit: PAGE });
    for (const session of page) if (session.id.includes(":")) await store.sessions.delete(session.id);
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    cursor = last.updatedAt;
  }
}
