/** The context of every operation, and the checks that many operations share. */
import { isPorticoError, type Logger, type Paths } from "portico";
import type { WhyProtected } from "./files/confine.ts";
import type { Guard } from "portico/egress";
import { errors } from "./errors.ts";
import { attempt, withTimeout } from "./deadline.ts";
import type { Library } from "./drivers/playwright.ts";
import type { Profile, Profiles } from "./profiles.ts";
import type { RelayControl } from "./relay-control.ts";
import type { BrowserConfig } from "./schema.ts";
import type { Session } from "./session/session.ts";
import type { Tab } from "./tab/tab.ts";

/** The dependencies that outlive a request. */
export interface OperationDeps {
  config(): BrowserConfig;
  profiles: Profiles;
  session(profile: Profile): Session;
  /** Returns the sessions that were used since the start. */
  sessions(): Iterable<Session>;
  guard: Guard;
  library(): Promise<Library>;
  /** Returns whether the library is installed, without loading it. */
  libraryPresent(): boolean;
  /** The extension relay, if it runs in this gateway. */
  relay: RelayControl | undefined;
  paths: Paths;
  whyProtected: WhyProtected;
  statesDir: string | undefined;
  env: NodeJS.ProcessEnv;
  log: Logger;
}

/** The context of one request for its operation. */
export interface Op {
  readonly deps: OperationDeps;
  readonly profile: Profile;
  readonly session: Session;
  readonly config: BrowserConfig;
  /** The caller's `Accept` header, for routes that can return bytes. */
  readonly accept: string;
  /** Identifies the caller: `diff` compares with the same caller's last snapshot. */
  readonly caller: string;
  readonly startedAt: number;
}

/** Fields that every route accepts. */
export interface CommonInput {
  profile?: string;
  targetId?: string;
  timeoutMs?: number;
}

/** A response that is not JSON. */
export class BytesResponse {
  constructor(
    readonly content: Buffer,
    readonly type: string,
  ) {}
}

/**
 * Checks an address before the browser receives it, and returns its normalized form. Rejects with a 403
 * `navigation_blocked`, or with a 422 if the host name does not resolve.
 */
export async function checkAddress(op: Op, url: string): Promise<string> {
  try {
    return (await withTimeout(10_000, "Resolving the host name", op.deps.guard.checkUrl(url))).url
      .href;
  } catch (error) {
    if (isPorticoError(error) && error.code === "name_not_resolved") {
      throw errors.pageNotLoaded({ reason: error.message }, { param: "url", cause: error });
    }
    throw error;
  }
}

/** Internal pages of the browser that reveal nothing about any network. */
const HARMLESS_PAGES =
  /^(about:blank(#.*)?|chrome-error:\/\/chromewebdata\/|chrome:\/\/newtab\/?|chrome:\/\/new-tab-page\/?|)$/;

/**
 * Checks the current page of a tab before its content is returned. Behind our proxy, no forbidden page can have been
 * loaded, so the form of the address is enough; without the proxy, host names are resolved again.
 */
export async function checkCurrentPage(op: Op, url: string): Promise<void> {
  if (HARMLESS_PAGES.test(url)) return;
  if (op.session.attachment?.egress === "enforced") op.deps.guard.precheck(url);
  else await checkAddress(op, url);
}

/** Returns the requested tab, alive and on a page that may be read. */
export async function getReadableTab(op: Op, targetId?: string, timeoutMs = 30_000): Promise<Tab> {
  const tab = await op.session.tabs.get(targetId);
  tab.assertAlive();
  await tab.whileAlive(tab.waitUntilSettled(timeoutMs));
  await checkCurrentPage(op, tab.url);
  return tab;
}

/** Replaces a page that must not be shown by an empty one. */
export async function showBlankPage(tab: Tab): Promise<void> {
  await attempt(3000, tab.page.goto("about:blank", { timeout: 3000 }), null);
}
