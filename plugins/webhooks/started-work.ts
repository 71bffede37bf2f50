/** The work that an accepted delivery starts: the items that are stored with it, and its response. */
import { type Principal, principalNamed } from "portico";
import type { NewItem } from "portico/store";
import type { PreparedResponse } from "./mappings/respond.ts";
import type { Mapping } from "./settings.ts";

/** The source of turns and events, as the agent shows it. */
export const SOURCE = "webhook";

/** The kind of the items of deliveries that wait for others of their burst. */
export const BURST = "webhook.burst";

export interface StartedWork {
  action: "wake" | "agent" | "none";
  items: readonly NewItem[];
  /** The principal on whose behalf the work is done; absent if nothing is started. */
  principal?: Principal;
  status: number;
  body?: unknown;
  itemId?: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
  /** True if the response waits for the end of the turn. */
  wait?: boolean | undefined;
  /** The response that the mapping defines. */
  respond?: PreparedResponse | undefined;
}

/** Returns a response that starts no work, for a challenge, or a delivery that does not match or was dropped. */
export function createEmptyWork(status: number, body?: unknown): StartedWork {
  return { action: "none", items: [], status, body };
}

/** Returns the principal of what a mapping starts. It is not the caller's, because strangers write the payload. */
export function principalOfMapping({ name }: Pick<Mapping, "name">): Principal {
  return principalNamed("webhook", name);
}
