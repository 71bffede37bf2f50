/** What browser control does before it acts on tabs of the relay. */
import type { Op } from "../op.ts";
import { aboutOf } from "../declarations/routes.ts";
import { libraryUnavailable } from "../drivers/playwright.ts";
import type { Session } from "../session/session.ts";
import type { RelayControl } from "../relay-control.ts";

type Asked = Pick<Op, "profile" | "session" | "deps">;

/** Sessions that were stopped, and how many tabs had been handed over by then: a further one takes the stop back. */
const stopped = new WeakMap<Session, number>();

const ours = ({ profile, deps }: Asked): RelayControl | undefined =>
  profile.driver === "extension" && profile.cdpUrl === deps.relay?.url ? deps.relay : undefined;

const isStopped = (session: Session, relay: RelayControl): boolean =>
  stopped.get(session) === relay.clicks;

/** True where tabs are attached and may be used, though nothing has connected to them yet. */
export function isReachable(op: Asked): boolean {
  const relay = ours(op);
  return relay !== undefined && relay.tabs().length > 0 && !isStopped(op.session, relay);
}

/** What the status says of a relay profile beside the rest. */
export function relayStatus(op: Asked): object {
  const relay = ours(op);
  if (relay === undefined) return {};
  const tabs = relay
    .tabs()
    .map(({ targetId, title, url }) => ({ targetId, title, url, type: "page" }));
  return { relay: { port: relay.port, connected: relay.connected }, tabs };
}

const STARTS: ReadonlySet<string> = new Set(["/start", "/navigate", "/tabs/open"]);

function noteStop(session: Session, relay: RelayControl, path: string): void {
  if (path === "/stop") stopped.set(session, relay.clicks);
  if (STARTS.has(path)) stopped.delete(session);
}

/**
 * The person's browser runs anyway: where a tab is attached, the first request connects to it. Where none is, nothing
 * stays connected, and routes that need one answer 409. 501 for what needs the library where it is absent.
 */
export async function prepareRelay(op: Op, path: string): Promise<void> {
  const relay = ours(op);
  const about = aboutOf(path);
  const needsNoTab = about === "browser" || about === "profiles";
  if (!op.deps.libraryPresent() && about === "page") {
    throw libraryUnavailable({
      still: "Without it, the tabs of the extension relay can only be listed.",
    });
  }
  if (relay === undefined) return;
  const { session } = op;
  noteStop(session, relay, path);
  if (!needsNoTab) await relay.settled();
  if (relay.tabs().length === 0) {
    if (session.running && !relay.isAway) await session.stop();
    if (path !== "/tabs" && !needsNoTab) await relay.ready();
    return;
  }
  if (!needsNoTab && isReachable(op)) await session.start();
}
