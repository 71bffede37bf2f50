/** Prepares the relay before browser control acts on its tabs. */
import type { Op } from "../op.ts";
import { subjectOf } from "../declarations/routes.ts";
import { libraryUnavailableError } from "../drivers/playwright.ts";
import type { Session } from "../session/session.ts";
import type { RelayControl } from "../relay-control.ts";

type RelayOp = Pick<Op, "profile" | "session" | "deps">;

/**
 * Maps each stopped session to the number of tabs that had been attached by then. A further attached tab revokes the
 * stop.
 */
const stoppedSessions = new WeakMap<Session, number>();

const findOwnRelay = ({ profile, deps }: RelayOp): RelayControl | undefined =>
  profile.driver === "extension" && profile.cdpUrl === deps.relay?.url ? deps.relay : undefined;

const isStopped = (session: Session, relay: RelayControl): boolean =>
  stoppedSessions.get(session) === relay.attachCount;

/** True if tabs are attached and may be used, even if the session has not connected to them yet. */
export function isReachable(op: RelayOp): boolean {
  const relay = findOwnRelay(op);
  return relay !== undefined && relay.tabs().length > 0 && !isStopped(op.session, relay);
}

/** Returns the additional status fields of a relay profile. */
export function describeRelay(op: RelayOp): object {
  const relay = findOwnRelay(op);
  if (relay === undefined) return {};
  const tabs = relay
    .tabs()
    .map(({ targetId, title, url }) => ({ targetId, title, url, type: "page" }));
  return { relay: { port: relay.port, connected: relay.connected }, tabs };
}

const STARTING_PATHS: ReadonlySet<string> = new Set(["/start", "/navigate", "/tabs/open"]);

function recordStop(session: Session, relay: RelayControl, path: string): void {
  if (path === "/stop") stoppedSessions.set(session, relay.attachCount);
  if (STARTING_PATHS.has(path)) stoppedSessions.delete(session);
}

/**
 * Connects the session at the first request if a tab is attached: the user's browser runs anyway. Without an attached
 * tab, the session is disconnected and routes that need a tab fail with 409. Fails with 501 if the operation needs the
 * library and it is not installed.
 */
export async function prepareRelay(op: Op, path: string): Promise<void> {
  const relay = findOwnRelay(op);
  const subject = subjectOf(path);
  const needsNoTab = subject === "browser" || subject === "profiles";
  if (!op.deps.libraryPresent() && subject === "page") {
    throw libraryUnavailableError({
      still: "Without this library, the tabs of the extension relay can only be listed.",
    });
  }
  if (relay === undefined) return;
  const { session } = op;
  recordStop(session, relay, path);
  if (!needsNoTab) await relay.waitWhileAway();
  if (relay.tabs().length === 0) {
    if (session.isRunning && !relay.isAway) await session.stop();
    if (path !== "/tabs" && !needsNoTab) await relay.ready();
    return;
  }
  if (!needsNoTab && isReachable(op)) await session.start();
}
