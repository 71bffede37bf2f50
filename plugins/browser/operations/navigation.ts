/** Tabs and navigation. */
import { isPorticoError, type PorticoError } from "portico";
import { errors } from "../errors.ts";
import { attempt, remainingMs, pause, withTimeout } from "../deadline.ts";
import { toPublicError, isTimeout, describeNetworkError } from "../failures.ts";
import type { Response } from "../drivers/playwright.ts";
import type { TabInfo } from "../session/open-tabs.ts";
import { goTo, LOAD_GRACE_MS, retryOnNetworkChange, type WaitUntil } from "../tab/loading.ts";
import { endEndlessScripts } from "../tab/runaway.ts";
import type { Tab } from "../tab/tab.ts";
import { showBlankPage, checkAddress, checkCurrentPage, type CommonInput, type Op } from "../op.ts";

interface NavigateInput extends CommonInput {
  url: string;
  waitUntil?: WaitUntil;
}

export async function listTabs(op: Op): Promise<object> {
  if (!op.session.isRunning) return { running: false, tabs: [] };
  return { running: true, tabs: await op.session.tabs.list() };
}

/** The browser's error for a connection that our proxy refused. */
const PROXY_REFUSAL = /ERR_SOCKS_CONNECTION_FAILED/;
const UNREACHABLE_REASONS: ReadonlySet<string> = new Set([
  "unreachable",
  "name_not_resolved",
  "invalid",
]);

/**
 * Returns the error for a connection that our proxy refused since then: a 403 if the policy forbids it, a 422 if it
 * failed. Without a refusal for that host, it reports the last forbidden one, since a redirect may have led there.
 */
function findProxyRefusal(op: Op, since: number, host?: string): PorticoError | undefined {
  const denials = op.session.attachment?.proxy?.denied(since) ?? [];
  const name = host?.replace(/^\[|\]$/g, "");
  const denial =
    denials.findLast((entry) => entry.host === name) ??
    denials.findLast(({ reason }) => !UNREACHABLE_REASONS.has(reason));
  if (denial === undefined) return undefined;
  const { reason, message } = denial;
  if (UNREACHABLE_REASONS.has(reason))
    return errors.pageNotLoaded({ reason: message }, { param: "url" });
  return errors.navigationBlocked({ reason: message }, { details: { reason, host: denial.host } });
}

/** Loads an address into a tab and returns the result. */
async function loadAddress(
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
    throw await explainFailure(op, tab, error, since, url, timeoutMs);
  }
  try {
    await checkCurrentPage(op, tab.url);
  } catch (error) {
    await showBlankPage(tab);
    throw error;
  }
  return { ok: true, targetId: tab.targetId, url: tab.url, status: response?.status() ?? null };
}

/** The time in ms within which a closing tab disappears. */
const CLOSING_MS = 300;

/** Returns the error if the tab's current page must not be shown, else `undefined`. */
async function findPageRefusal(op: Op, tab: Tab): Promise<unknown> {
  return checkCurrentPage(op, tab.url).then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function explainFailure(
  op: Op,
  tab: Tab,
  error: unknown,
  since: number,
  url: string,
  timeoutMs: number,
): Promise<unknown> {
  const text = String((error as Error).message);
  // A closing tab aborts its navigation first.
  if (/ERR_ABORTED/.test(text))
    await attempt(CLOSING_MS, tab.whileAlive(pause(CLOSING_MS)), undefined);
  if (tab.isClosed || tab.page.isClosed()) return errors.closedWhileLoading({ cause: error });
  // A redirect may have led to another address.
  const finalUrl =
    tab.failedNavigation !== undefined && tab.failedNavigation.at >= since
      ? tab.failedNavigation.url
      : url;
  const blocked = PROXY_REFUSAL.test(text)
    ? findProxyRefusal(op, since, new URL(finalUrl).hostname)
    : undefined;
  if (blocked !== undefined) {
    if (blocked.code === "navigation_blocked") await showBlankPage(tab);
    return blocked;
  }
  if (isTimeout(error)) return errors.pageSlow({ ms: timeoutMs }, { cause: error });
  if (/Download is starting/i.test(text))
    return errors.addressIsDownload({ param: "url", cause: error });
  if (/is interrupted by another navigation/i.test(text))
    return explainInterruption(op, tab, error, since);
  const networkReason = describeNetworkError(text);
  if (networkReason !== undefined)
    return errors.pageNotLoaded({ reason: `${networkReason}.` }, { param: "url", cause: error });
  return toPublicError(error, `Navigating to ${new URL(url).host || url}`);
}

/**
 * Explains a navigation that the page interrupted by another one. If the other address is forbidden, the error is the
 * same as for a redirect to it.
 */
async function explainInterruption(
  op: Op,
  tab: Tab,
  cause: unknown,
  since: number,
): Promise<unknown> {
  const refusal = (await findPageRefusal(op, tab)) ?? findProxyRefusal(op, since);
  if (refusal === undefined) return errors.interruptedLoad({ url: tab.url }, { cause });
  await showBlankPage(tab);
  return refusal;
}

/** Returns the requested tab. Concurrent calls that start the browser each get their own tab. */
async function chooseTab(op: Op, targetId: string | undefined, isColdStart: boolean): Promise<Tab> {
  const { context, tabs } = op.session;
  if (targetId !== undefined || context === undefined) return tabs.get(targetId);
  if (isColdStart) return tabs.claimFirstTab() ?? tabs.open();
  return (await tabs.list()).length === 0 ? tabs.open() : tabs.get();
}

export async function navigate(op: Op, input: NavigateInput): Promise<object> {
  await checkAddress(op, input.url);
  const isColdStart = !op.session.isRunning;
  await op.session.start();
  const tab = await chooseTab(op, input.targetId, isColdStart);
  if (!tab.isCrashed) {
    await endEndlessScripts(tab.cdp);
    return loadAddress(op, tab, input);
  }
  // A crashed tab cannot be revived, so a new one replaces it.
  await attempt(2000, tab.page.close(), undefined);
  return loadAddress(op, await op.session.tabs.open(), input);
}

export async function openTab(op: Op, input: CommonInput & { url: string }): Promise<object> {
  const { session } = op;
  const { url } = input;
  await checkAddress(op, url);
  const isColdStart = !session.isRunning;
  await session.start();
  if (!op.deps.libraryPresent()) return openRawTab(op, url, input.timeoutMs ?? 30_000);
  const tab =
    (isColdStart ? session.tabs.claimFirstTab() : undefined) ?? (await session.tabs.open());
  if (url !== "about:blank") {
    try {
      await loadAddress(op, tab, { ...input, url });
    } catch (error) {
      // A slow page may still load, but a refused one must not stay open.
      if (!isTimeout(error)) await attempt(2000, tab.page.close(), undefined);
      throw error;
    }
  }
  return { ok: true, ...(await describeTab(op, tab)) };
}

async function describeTab(op: Op, tab: Tab): Promise<TabInfo> {
  const tabInfo = (await attempt(2000, op.session.tabs.list(), [])).find(
    ({ targetId }) => targetId === tab.targetId,
  );
  return tabInfo ?? { targetId: tab.targetId, title: "", url: tab.url, type: "page" };
}

function explainRawFailure(op: Op, error: Error, since: number, url: string): PorticoError {
  if (isPorticoError(error)) return error;
  const blocked = PROXY_REFUSAL.test(error.message)
    ? findProxyRefusal(op, since, new URL(url).hostname)
    : undefined;
  if (blocked !== undefined) return blocked;
  const networkReason = describeNetworkError(error.message) ?? error.message;
  return errors.pageNotLoaded({ reason: `${networkReason}.` }, { param: "url", cause: error });
}

/** Opens a tab with plain DevTools commands, without the library. */
async function openRawTab(op: Op, url: string, timeoutMs: number): Promise<object> {
  const { cdp } = op.session;
  const since = Date.now();
  const creating = cdp.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
  const { targetId } = await withTimeout(10_000, "Opening a tab", creating);
  const tab = await op.session.attachRawTab(targetId);
  try {
    await retryOnNetworkChange(since + timeoutMs, async () => {
      const navigating = tab.send<{ errorText?: string }>("Page.navigate", { url });
      const { errorText } = await withTimeout(
        remainingMs(since, timeoutMs),
        "Loading the page",
        navigating,
      );
      if (errorText) throw new Error(errorText);
    }).catch((error: Error) => {
      throw explainRawFailure(op, error, since, url);
    });
    const loadExpression = `new Promise((done) => { if (document.readyState === "complete") done(); else addEventListener("load", done, { once: true }); })`;
    const loading = tab.send("Runtime.evaluate", {
      expression: loadExpression,
      awaitPromise: true,
    });
    await attempt(Math.min(LOAD_GRACE_MS, remainingMs(since, timeoutMs)), loading, {});
    const info = (await op.session.tabs.list()).find((entry) => entry.targetId === targetId);
    await checkCurrentPage(op, info?.url ?? "");
    op.session.tabs.markUsed(targetId);
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
  await withTimeout(
    5000,
    "Bringing the tab to the front",
    op.session.cdp.send("Target.activateTarget", { targetId }),
  );
  op.session.tabs.markUsed(targetId);
  return { ok: true, targetId };
}

/** Closes a tab with a command to the browser, so that a page that hangs cannot prevent it. */
export async function closeTab(op: Op, input: { targetId?: string }): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  await withTimeout(
    5000,
    "Closing the tab",
    op.session.cdp.send("Target.closeTarget", { targetId }),
  );
  for (
    let i = 0;
    i < 50 && (await op.session.tabs.list()).some((tab) => tab.targetId === targetId);
    i++
  ) {
    await attempt(20, new Promise(() => {}), undefined);
  }
  return { ok: true, targetId };
}
