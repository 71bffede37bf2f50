/** Finds the principal on whose behalf a stored turn runs. */
import { type Principal, principalNamed, readPrincipal } from "portico";
import type { WorkItem } from "portico/store";
import type { TurnBody } from "../turns/turn-body.ts";

/** Older versions stored the caller of a webhook's turn: `token`, `key:<name>` or `mapping:<name>`. */
type OlderBody = TurnBody & { caller?: string };

/** Sources of turns that only the owner could start before turns had a principal. */
const OWNERS_SOURCES = new Set(["cli", "http", "cron", "heartbeat", "sessions"]);

export function principalOfTurn({
  body,
  lane,
}: Pick<WorkItem<TurnBody>, "body" | "lane">): Principal {
  return readPrincipal(body.principal) ?? principalOfOlderTurn(body, lane);
}

/**
 * Returns the holder whose share of the concurrent turns a turn uses; undefined for the owner, whom no share limits.
 */
export function holderOf(principal: Principal): string | undefined {
  return principal === "owner" ? undefined : principal;
}

/**
 * Derives the principal of a turn that was stored before turns had a principal. If the source does not identify the
 * caller for certain, the principal is `outside`, so that the turn still runs, without tools.
 */
function principalOfOlderTurn(
  { source, caller, untrusted }: OlderBody,
  session: string,
): Principal {
  if (source === "chat") return principalOfSession(session) ?? "owner";
  if (OWNERS_SOURCES.has(source)) return "owner";
  if (source !== "webhook") return "outside";
  const [kind, ...name] = (caller ?? "").split(":");
  if (kind === "key" || kind === "mapping") return principalNamed("webhook", name.join(":"));
  return caller === "token" && untrusted === undefined ? "owner" : "outside";
}

/** Returns the client key of a chat session, which is named `key:<name>:…` with the name escaped. */
function principalOfSession(session: string): Principal | undefined {
  const [kind, name] = session.split(":");
  return kind === "key" && name ? `key:${name}` : undefined;
}
