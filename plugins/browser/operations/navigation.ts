/** Tabs and navigation. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, within } from "../deadline.ts";
import { failure, isTimeout, networkFailure } from "../failures.ts";
import type { Response } from "../drivers/playwright.ts";
import type { TabInfo } from "../session/open-tabs.ts";
import { goTo, LOAD_GRACE_MS, overChanges, type WaitUntil } from "../tab/loading.ts";
import { endScript } from "../tab/runaway.ts";
import type { Tab } from "../tab/tab.ts";
import { blank, checkAddress, checkShown, type Common, type Op } from "../op.ts";

interface NavigateInput extends Common {
  url: string;
  waitUntil?: WaitUntil;
}

export async function listTabs(op: Op): Promise<object> {
  if (!op.session.running) return { running: false, tabs: [] };
  return { running: true, tabs: await op.session.tabs.list() };
}

/** The browser's words for a connection that our proxy did not make. */
const NOT_CONNECTED = /ERR_SOCKS_CONNECTION_FAILED/;
const UNREACHABLE: ReadonlySet<string> = new Set(["unreachable", "name_not_resolved", "invalid"]);

/**
 * Why our proxy made no connection to that host since then: 403 where it may not be made, 422 where it cannot. Where it
 * knows nothing of that host, what it refused last: a redirect may have led there.
 */
function refused(op: Op, since: number, host?: string): PorticoError | undefined {
  const denials = op.session.attachment?.proxy?.denied(since) ?? [];
  const name = host?.replace(/^\[|\]$/g, "");
  const denial =
    denials.findLast((one) => one.host === name) ??
    denials.findLast(({ reason }) => !UNREACHABLE.has(reason));
  if (denial === undefined) return undefined;
  const { reason, message } = denial;
  if (UNREACHABLE.has(reason)) return errors.pageNotLoaded({ reason: message }, { param: "url" });
  return errors.navigationBlocked({ reason: message }, { details: { reason, host: denial.host } });
}

/** Loads an address into a tab and says how it went. */
async function load(
  op: Op,
  tab: Tab,
  input: NavigateInput,
): Promise<{ ok: true; targetId: string; url: string; status: number | null }> {
  const url = await checkAddress(op, input.url);
  const timeoutMs = input.timeoutMs ?? 30_000;
  const since = Date.now();
  let response: Response | null;
  try {
    response = await tab.whileAlive(goTo(tab, url, input.waitUntil, timeoutMs));
  } catch (error) {
    throw await explain(op, tab, error, since, url, timeoutMs);
  }
  try {
    await checkShown(op, tab.url);
  } catch (error) {
    await blank(tab);
    throw error;
  }
  return { ok: true, targetId: tab.targetId, url: tab.url, status: response?.status() ?? null };
}

/** By then, a closing tab no longer exists. */
const CLOSING_MS = 300;

/** Why what the tab shows now may not be shown. */
async function forbidden(op: Op, tab: Tab): Promise<unknown> {
  return checkShown(op, tab.url).then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function explain(
  op: Op,
  tab: Tab,
  error: unknown,
  since: number,
  url: string,
  timeoutMs: number,
): Promise<unknown> {
  const text = String((error as Error).message);
  // A tab that closes ends its navigation first.
  if (/ERR_ABORTED/.test(text))
    await attempt(CLOSING_MS, tab.whileAlive(pause(CLOSING_MS)), undefined);
  if (tab.closed || tab.page.isClosed()) return errors.closedWhileLoading({ cause: error });
  // A redirect may have led it elsewhere.
  const end = tab.failed !== undefined && tab.failed.at >= since ? tab.failed.url : url;
  const blocked = NOT_CONNECTED.test(text) ? refused(op, since, new URL(end).hostname) : undefined;
  if (blocked !== undefined) {
    if (blocked.code === "navigation_blocked") await blank(tab);
    return blocked;
  }
  if (isTimeout(error)) return errors.pageSlow({ ms: timeoutMs }, { cause: error });
  if (/Download is starting/i.test(text))
    return errors.addressIsDownload({ param: "url", cause: error });
  if (/is interrupted by another navigation/i.test(text)) return interrupted(op, tab, error, since);
  const network = networkFailure(text);
  if (network !== undefined)
    return errors.pageNotLoaded({ reason: `${network}.` }, { param: "url", cause: error });
  return failure(error, `Navigating to ${new URL(url).host || url}`);
}

/** A page that sends the tab to where it may not go is refused like one that redirects there. */
async function interrupted(op: Op, tab: Tab, cause: unknown, since: number): Promise<unknown> {
  const elsewhere = (await forbidden(op, tab)) ?? refused(op, since);
  if (elsewhere === undefined) return errors.wentElsewhere({ url: tab.url }, { cause });
  await blank(tab);
  return elsewhere;
}

/** The tab that is meant; one of its own for each of several calls that find the browser stopped. */
async function tabFor(op: Op, targetId: string | undefined, cold: boolean): Promise<Tab> {
  const { context, tabs } = op.session;
  if (targetId !== undefined || context === undefined) return tabs.get(targetId);
  if (cold) return tabs.takeFirst() ?? tabs.open();
  return (await tabs.list()).length === 0 ? tabs.open() : tabs.get();
}

export async function navigate(op: Op, input: NavigateInput): Promise<object> {
  await checkAddress(op, input.url);
  const cold = !op.session.running;
  await op.session.start();
  const tab = await tabFor(op, input.targetId, cold);
  if (!tab.crashed) {
    await endScript(tab.cdp);
    return load(op, tab, input);
  }
  // Nothing brings a crashed tab back: a new one takes its place.
  await attempt(2000, tab.page.close(), undefined);
  return load(op, await op.session.tabs.open(), input);
}

export async function openTab(op: Op, input: Common & { url: string }): Promise<object> {
  const { session } = op;
  const { url } = input;
  await checkAddress(op, url);
  const cold = !session.running;
  await session.start();
  if (!op.deps.libraryPresent()) return openRaw(op, url, input.timeoutMs ?? 30_000);
  const tab = (cold ? session.tabs.takeFirst() : undefined) ?? (await session.tabs.open());
  if (url !== "about:blank") {
    try {
      await load(op, tab, { ...input, url });
    } catch (error) {
      // A slow page may still come; a refused one must not stay.
      if (!isTimeout(error)) await attempt(2000, tab.page.close(), undefined);
      throw error;
    }
  }
  return { ok: true, ...(await describe(op, tab)) };
}

async function describe(op: Op, tab: Tab): Promise<TabInfo> {
  const listed = (await attempt(2000, op.session.tabs.list(), [])).find(
    ({ targetId }) => targetId === tab.targetId,
  );
  return listed ?? { targetId: tab.targetId, title: "", url: tab.url, type: "page" };
}

function explainRaw(op: Op, error: Error, since: number, url: string): PorticoError {
  if (isPorticoError(error)) return error;
  const blocked = NOT_CONNECTED.test(error.message)
    ? refused(op, since, new URL(url).hostname)
    : undefined;
  if (blocked !== undefined) return blocked;
  const network = networkFailure(error.message) ?? error.message;
  return errors.pageNotLoaded({ reason: `${network}.` }, { param: "url", cause: error });
}

/** Without the library: over plain DevTools. */
async function openRaw(op: Op, url: string, timeoutMs: number): Promise<object> {
  const { cdp } = op.session;
  const since = Date.now();
  const creating = cdp.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
  const { targetId } = await within(10_000, "Opening a tab", creating);
  const tab = await op.session.rawTab(targetId);
  try {
    await overChanges(since + timeoutMs, async () => {
      const navigating = tab.send<{ errorText?: string }>("Page.navigate", { url });
      const { errorText } = await within(
        remainingMs(since, timeoutMs),
        "Loading the page",
        navigating,
      );
      if (errorText) throw new Error(errorText);
    }).catch((error: Error) => {
      throw explainRaw(op, error, since, url);
    });
    const loaded = `new Promise((done) => { if (document.readyState === "complete") done(); else addEventListener("load", done, { once: true }); })`;
    const loading = tab.send("Runtime.evaluate", { expression: loaded, awaitPromise: true });
    await attempt(Math.min(LOAD_GRACE_MS, remainingMs(since, timeoutMs)), loading, {});
    const info = (await op.session.tabs.list()).find((one) => one.targetId === targetId);
    await checkShown(op, info?.url ?? "");
    op.session.tabs.use(targetId);
    return { ok: true, ...(info ?? { targetId, title: "", url, type: "page" }) };
  } catch (error) {
    await attempt(2000, cdp.send("Target.closeTarget", { targetId }), {});
    throw error;
  } finally {
    await tab.detach();
  }
}

export async function focusTab(op: Op, input: { targetId: string }): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  await within(
    5000,
    "Bringing the tab to the front",
    op.session.cdp.send("Target.activateTarget", { targetId }),
  );
  op.session.tabs.use(targetId);
  return { ok: true, targetId };
}

/** Closes a tab from the browser's side: a page that hangs cannot object. */
export async function closeTab(op: Op, input: { targetId?: string }): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  await within(5000, "Closing the tab", op.session.cdp.send("Target.closeTarget", { targetId }));
  for (
    let i = 0;
    i < 50 && (await op.session.tabs.list()).some((tab) => tab.targetId === targetId);
    i++
  ) {
    await attempt(20, new Promise(() => {}), undefined);
  }
  return { ok: true, targetId };
}
