/** Tabs and navigation. */
import { PorticoError } from "portico";
import { attempt, left, within } from "../deadline.ts";
import { failure, isTimeout, networkFailure } from "../failures.ts";
import type { Response } from "../drivers/playwright.ts";
import type { TabInfo } from "../session/open-tabs.ts";
import { endScript } from "../tab/runaway.ts";
import type { Tab } from "../tab/tab.ts";
import { blank, checkAddress, checkShown, type Common, type Op } from "./op.ts";

type WaitUntil = "load" | "domcontentloaded" | "networkidle" | "commit";

interface NavigateInput extends Common {
  url: string;
  waitUntil?: WaitUntil;
}

/** Where the caller names no waitUntil: the document must be there, the rest gets a few seconds more. */
const LOAD_GRACE_MS = 5_000;

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
    denials.findLast((one) => one.host === name) ?? denials.findLast(({ reason }) => !UNREACHABLE.has(reason));
  if (denial === undefined) return undefined;
  const { reason, message } = denial;
  if (UNREACHABLE.has(reason))
    return new PorticoError("action_failed", `The page could not be loaded: ${message}`, { param: "url" });
  return new PorticoError("navigation_blocked", message, { details: { reason, host: denial.host } });
}

const INTERRUPTED = /is interrupted by another navigation to "([^"]*)"/;

const ERROR_PAGE_MS = 400;
const MOST_TRIES = 3;

async function go(
  tab: Tab,
  url: string,
  waitUntil: WaitUntil | undefined,
  timeoutMs: number,
): Promise<Response | null> {
  const start = Date.now();
  const before = tab.url;
  let answered: Response | null = null;
  const note = (response: Response): void => {
    if (response.request().isNavigationRequest() && response.url() === url) answered = response;
  };
  tab.page.on("response", note);
  const open = (): Promise<Response | null> => {
    const timeout = left(start, timeoutMs);
    return within(
      timeout + 500,
      "Loading the page",
      tab.page.goto(url, { waitUntil: waitUntil ?? "domcontentloaded", timeout }),
    );
  };
  const attemptAt = async (tries: number): Promise<Response | null> => {
    try {
      return await open();
    } catch (error) {
      const text = (error as Error).message;
      const other = INTERRUPTED.exec(text)?.[1];
      // The page is there already, and what it does next is a navigation of its own.
      if (other === url) return answered;
      // What an earlier navigation came to (its page, its error page, the blank one) may be late and push this one aside.
      const late = other !== undefined && (other === before || /^(chrome-error:|about:blank)/.test(other));
      if (late && tries < MOST_TRIES) return attemptAt(tries + 1);
      // The browser's own error page follows: what is asked of the tab before it is there would be cut off.
      if (text.includes("net::ERR_") && !text.includes("ERR_ABORTED")) {
        await attempt(ERROR_PAGE_MS, tab.page.waitForURL(/^chrome-error:/, { waitUntil: "commit" }), undefined);
      }
      throw error;
    }
  };
  const response = await attemptAt(1).finally(() => tab.page.off("response", note));
  if (waitUntil === undefined) {
    await attempt(Math.min(LOAD_GRACE_MS, left(start, timeoutMs)), tab.page.waitForLoadState("load"), undefined);
  }
  return response;
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
    response = await go(tab, url, input.waitUntil, timeoutMs);
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
  // A redirect may have led it elsewhere.
  const end = tab.failed !== undefined && tab.failed.at >= since ? tab.failed.url : url;
  const blocked = NOT_CONNECTED.test(text) ? refused(op, since, new URL(end).hostname) : undefined;
  if (blocked !== undefined) {
    if (blocked.code === "navigation_blocked") await blank(tab);
    return blocked;
  }
  if (isTimeout(error)) {
    return new PorticoError(
      "timeout",
      `The page did not load within ${timeoutMs} ms. It may still be loading: look at it with GET /snapshot, or navigate with waitUntil "commit".`,
      { cause: error },
    );
  }
  if (/Download is starting/i.test(text)) {
    return new PorticoError(
      "action_failed",
      "The address is a download, not a page: fetch it with POST /wait/download.",
      { param: "url", cause: error },
    );
  }
  if (/is interrupted by another navigation/i.test(text)) {
    // A page that sends the tab to where it may not go is refused like one that redirects there.
    const elsewhere = (await forbidden(op, tab)) ?? refused(op, since);
    if (elsewhere !== undefined) {
      await blank(tab);
      return elsewhere;
    }
    return new PorticoError("action_failed", `The page went elsewhere while it was loading: it is at ${tab.url} now.`, {
      cause: error,
    });
  }
  const network = networkFailure(text);
  if (network !== undefined)
    return new PorticoError("action_failed", `The page could not be loaded: ${network}.`, {
      param: "url",
      cause: error,
    });
  return failure(error, `Navigating to ${new URL(url).host || url}`);
}

export async function navigate(op: Op, input: NavigateInput): Promise<object> {
  await checkAddress(op, input.url);
  await op.session.start();
  const open = await op.session.tabs.list();
  const { context } = op.session;
  const tab =
    open.length === 0 && input.targetId === undefined && context !== undefined
      ? await op.session.tabs.open()
      : await op.session.tabs.get(input.targetId);
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
  const tab = (cold ? session.tabs.first() : undefined) ?? (await session.tabs.open());
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
  const listed = (await attempt(2000, op.session.tabs.list(), [])).find(({ targetId }) => targetId === tab.targetId);
  return listed ?? { targetId: tab.targetId, title: "", url: tab.url, type: "page" };
}

/** Without the library: over plain DevTools. */
async function openRaw(op: Op, url: string, timeoutMs: number): Promise<object> {
  const { cdp } = op.session;
  const since = Date.now();
  const creating = cdp.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" });
  const { targetId } = await within(10_000, "Opening a tab", creating);
  const tab = await op.session.rawTab(targetId);
  try {
    const { errorText } = await within(
      timeoutMs,
      "Loading the page",
      tab.send<{ errorText?: string }>("Page.navigate", { url }),
    );
    const loaded = `new Promise((done) => { if (document.readyState === "complete") done(); else addEventListener("load", done, { once: true }); })`;
    const loading = tab.send("Runtime.evaluate", { expression: loaded, awaitPromise: true });
    await attempt(Math.min(LOAD_GRACE_MS, left(since, timeoutMs)), loading, {});
    const blocked = NOT_CONNECTED.test(errorText ?? "") ? refused(op, since, new URL(url).hostname) : undefined;
    if (blocked !== undefined) throw blocked;
    if (errorText)
      throw new PorticoError(
        "action_failed",
        `The page could not be loaded: ${networkFailure(errorText) ?? errorText}.`,
        { param: "url" },
      );
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
  await within(5000, "Bringing the tab to the front", op.session.cdp.send("Target.activateTarget", { targetId }));
  op.session.tabs.use(targetId);
  return { ok: true, targetId };
}

/** Closes a tab from the browser's side: a page that hangs cannot object. */
export async function closeTab(op: Op, input: { targetId?: string }): Promise<object> {
  const targetId = await op.session.tabs.targetId(input.targetId);
  await within(5000, "Closing the tab", op.session.cdp.send("Target.closeTarget", { targetId }));
  for (let i = 0; i < 50 && (await op.session.tabs.list()).some((tab) => tab.targetId === targetId); i++) {
    await attempt(20, new Promise(() => {}), undefined);
  }
  return { ok: true, targetId };
}
