/** What an accepted delivery becomes: the items that go into the store with it, and its response. */
import { type Principal, principalNamed } from "portico";
import type { NewItem } from "portico/store";
import type { PreparedResponse } from "./mappings/respond.ts";
import type { Mapping } from "./settings.ts";

/** The source of turns and events, as the agent shows it. */
export const SOURCE = "webhook";

/** The kind of item that a delivery is which waits for others of its burst. */
export const BURST = "webhook.burst";

export interface Job {
  action: "wake" | "agent" | "none";
  items: readonly NewItem[];
  /** On whose behalf; none where nothing is started. */
  principal?: Principal;
  status: number;
  body?: unknown;
  itemId?: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
  /** The response waits for the end of the turn. */
  wait?: boolean | undefined;
  /** The mapping's own response. */
  respond?: PreparedResponse | undefined;
}

/** Nothing is started: a challenge, or a delivery that its transform dropped. */
export function emptyJob(status: number, body?: unknown): Job {
  return { action: "none", items: [], status, body };
}

/** A mapping itself owns what it starts, regardless of the caller: strangers write the payload. */
export function principalOfMapping({ name }: Pick<Mapping, "name">): Principal {
  return principalNamed("webhook", name);
}
