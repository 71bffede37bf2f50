/** What every operation gets, and the checks that many of them share. */
import { isPorticoError, type Logger, type Paths } from "portico";
import type { WhyProtected } from "./files/confine.ts";
import type { Guard } from "portico/egress";
import { errors } from "./errors.ts";
import { attempt, within } from "./deadline.ts";
import type { Library } from "./drivers/playwright.ts";
import type { Profile, Profiles } from "./profiles.ts";
import type { RelayControl } from "./relay-control.ts";
import type { BrowserConfig } from "./schema.ts";
import type { Session } from "./session/session.ts";
import type { Tab } from "./tab/tab.ts";

/** The parts that outlive a request. */
export interface OperationDeps {
  config(): BrowserConfig;
  profiles: Profiles;
  session(profile: Profile): Session;
  /** The sessions that were used since the start. */
  sessions(): Iterable<Session>;
  guard: Guard;
  library(): Promise<Library>;
  /** Whether the library is installed; does not load it. */
  libraryPresent(): boolean;
  /** The extension relay, where it runs in this gateway. */
  relay: RelayControl | undefined;
  paths: Paths;
  whyProtected: WhyProtected;
  statesDir: string | undefined;
  env: NodeJS.ProcessEnv;
  log: Logger;
}

/** One request, as operations see it. */
export interface Op {
  readonly deps: OperationDeps;
  readonly profile: Profile;
  readonly session: Session;
  readonly config: BrowserConfig;
  /** What the caller accepts, for the routes that can answer bytes. */
  readonly accept: string;
  /** Who asks, as far as it matters: `diff` compares with the same caller's last snapshot. */
  readonly caller: string;
  readonly startedAt: number;
}

/** Fields that every route takes. */
export interface Common {
  profile?: string;
  targetId?: string;
  timeoutMs?: number;
}

/** An answer that is not JSON. */
export class Bytes {
  constructor(
    readonly content: Buffer,
    readonly type: string,
  ) {}
}

/** Judges an address before the browser sees it. 403 `navigation_blocked`, 422 where the name does not resolve. */
export async function checkAddress(op: Op, url: string): Promise<string> {
  try {
    return (await within(10_000, "Resolving the host name", op.deps.guard.checkUrl(url))).url.href;
  } catch (error) {
    if (isPorticoError(error) && error.code === "name_not_resolved") {
      throw errors.pageNotLoaded({ reason: error.message }, { param: "url", cause: error });
    }
    throw error;
  }
}

/** Pages of the browser's own that say nothing of anybody's network. */
const HARMLESS =
  /^(about:blank(#.*)?|chrome-error:\/\/chromewebdata\/|chrome:\/\/newtab\/?|chrome:\/\/new-tab-page\/?|)$/;

/**
 * Judges the page that a tab shows now, before anything of it is handed out. Behind our proxy nothing forbidden can
 * have been loaded over the network, so the form of the address is enough; elsewhere names are resolved again.
 */
export async function checkShown(op: Op, url: string): Promise<void> {
  if (HARMLESS.test(url)) return;
  if (op.session.attachment?.egress === "enforced") op.deps.guard.precheck(url);
  else await checkAddress(op, url);
}

/** The tab that is meant, alive, and on a page that may be read. */
export async function readableTab(op: Op, targetId?: string, timeoutMs = 30_000): Promise<Tab> {
  const tab = await op.session.tabs.get(targetId);
  tab.assertAlive();
  await tab.whileAlive(tab.settled(timeoutMs));
  await checkShown(op, tab.url);
  return tab;
}

/** Takes a page off the screen that should not be there. */
export async function blank(tab: Tab): Promise<void> {
  await attempt(3000, tab.page.goto("about:blank", { timeout: 3000 }), null);
}
