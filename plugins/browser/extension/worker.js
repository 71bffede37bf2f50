// The extension's worker: handles the icon, the debugger's events, and the relay's requests.
// A tab is attached by a click on the icon, or because the agent opened it next to an attached one. Every request of
// the relay is checked against the list of attached tabs here, so that only the user's clicks grant access.

import * as attached from "./attached.js";
import { showBadge } from "./badge.js";
import { createLink } from "./link.js";
import { readSettings, socketOf } from "./settings.js";

/** The delays in ms after which a tab is attached again whose debugger was detached (a navigation can do that). */
const REATTACH_DELAYS_MS = [100, 300, 700, 1500, 3000];
const KEEP_ALIVE = "keep-alive";
/** The time in ms after which an absent gateway counts as gone; then its settings are removed from the tabs. */
const ABSENT_GATEWAY_MS = 60_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const link = createLink({
  isNeeded: () => attached.attachedIds().length > 0,
  async hello() {
    const tabs = await Promise.all(
      attached.attachedIds().map((tabId) => attached.describeTab(tabId).catch(() => {})),
    );
    const { version } = chrome.runtime.getManifest();
    return { version, userAgent: navigator.userAgent, tabs: tabs.filter(Boolean) };
  },
  execute: handleRequest,
  onState(open, why) {
    if (open) void showPresence();
    for (const tabId of attached.attachedIds()) {
      if (open) void showBadge(tabId, "on");
      else void showBadge(tabId, "waiting", why);
    }
  },
});

const ready = attached.restore().then(async (lost) => {
  for (const tabId of lost) await showBadge(tabId, "off");
  if (attached.attachedIds().length > 0) await keepAlive().catch(() => {});
  // Connecting may take a while, and nothing here waits for it.
  if (attached.attachedIds().length > 0) link.connect().catch(() => {});
});

/** Runs the operations of each tab one at a time, since clicks can be faster than the debugger. */
const lastTurns = new Map();
function runInTurn(tabId, work) {
  const turn = (lastTurns.get(tabId) ?? ready).then(work, work);
  const ended = turn.catch(() => {});
  lastTurns.set(tabId, ended);
  void ended.then(() => lastTurns.get(tabId) === ended && lastTurns.delete(tabId));
  return turn;
}

/**
 * Creates a hidden page and an alarm, which restart the worker whenever the browser has ended it while tabs are
 * attached.
 */
async function keepAlive() {
  await chrome.alarms.create(KEEP_ALIVE, { periodInMinutes: 0.5 });
  // Several tabs may be attached before the page exists, and the browser rejects a second page.
  opening ??= openOffscreen().finally(() => {
    opening = undefined;
  });
  await opening;
}

let opening;
async function openOffscreen() {
  if (await chrome.offscreen.hasDocument()) return;
  await chrome.offscreen.createDocument({
    url: "offscreen.html",
    reasons: ["WORKERS"],
    justification:
      "Keeps the connection to attached tabs across restarts of the extension's worker.",
  });
}

async function stopKeepAlive() {
  link.close();
  await chrome.alarms.clear(KEEP_ALIVE);
  await chrome.offscreen.closeDocument().catch(() => {});
}

async function attachTab(tabId, url) {
  const reason = attached.findRefusal(url);
  if (reason !== undefined) return showBadge(tabId, "refused", reason);
  if ((await readSettings()).token === "") {
    await showBadge(
      tabId,
      "refused",
      "not paired yet: enter the port and the token in the extension's options.",
    );
    return chrome.runtime.openOptionsPage();
  }
  await showBadge(tabId, "waiting");
  try {
    await link.connect();
    const tab = await attached.attach(tabId);
    link.send({ event: "attached", tab });
  } catch (error) {
    await showBadge(tabId, "refused", error.message);
    if (attached.attachedIds().length === 0) await stopKeepAlive();
    return;
  }
  await showBadge(tabId, "on");
  // The tab is attached even if this fails; the worker is then only restarted later.
  await keepAlive().catch(() => {});
}

async function releaseTab(tabId, reason, look = "off", why = undefined) {
  await attached.detach(tabId);
  link.send({ event: "detached", tabId, reason });
  await showBadge(tabId, look, why);
  if (attached.attachedIds().length === 0) await stopKeepAlive();
}

chrome.action.onClicked.addListener((tab) => {
  void runInTurn(tab.id, () =>
    attached.isAttached(tab.id)
      ? releaseTab(tab.id, "clicked")
      : attachTab(tab.id, tab.url || tab.pendingUrl || ""),
  );
});

chrome.debugger.onEvent.addListener(({ tabId, sessionId }, method, params) => {
  void ready.then(() => {
    if (attached.isAttached(tabId)) link.send({ event: "cdp", tabId, sessionId, method, params });
  });
});

chrome.debugger.onDetach.addListener(({ tabId }, reason) => {
  if (tabId === undefined) return;
  void runInTurn(tabId, () => {
    if (!attached.isAttached(tabId)) return;
    // "Cancel" in the browser's own bar is the user's decision; other reasons come from the browser.
    return reason === "canceled_by_user" ? releaseTab(tabId, reason) : attachAgain(tabId, reason);
  });
});

/** Attaches a tab again whose debugger was detached. Releases the tab if all attempts fail. */
async function attachAgain(tabId, reason) {
  let failure;
  for (const ms of REATTACH_DELAYS_MS) {
    await pause(ms);
    const tab = await chrome.tabs.get(tabId).catch(() => undefined);
    if (tab === undefined) return releaseTab(tabId, "closed");
    try {
      link.send({ event: "attached", tab: await attached.attach(tabId) });
      return showBadge(tabId, link.isOpen ? "on" : "waiting");
    } catch (error) {
      failure = error;
      if (attached.findRefusal(tab.url || tab.pendingUrl || "") !== undefined) break;
    }
  }
  return releaseTab(tabId, reason, "refused", failure?.message);
}

chrome.tabs.onRemoved.addListener((tabId) => {
  void runInTurn(tabId, () =>
    attached.isAttached(tabId) ? releaseTab(tabId, "closed") : undefined,
  );
});

chrome.tabs.onUpdated.addListener((tabId) => {
  void ready.then(() => {
    if (attached.isAttached(tabId)) return showBadge(tabId, link.isOpen ? "on" : "waiting");
  });
});

let isReset = false;
chrome.alarms.onAlarm.addListener(() => {
  void ready.then(async () => {
    if (attached.attachedIds().length === 0) return;
    await link.connect().catch(() => {});
    if (link.isOpen) isReset = false;
    else if (link.downMs > ABSENT_GATEWAY_MS && !isReset) {
      isReset = true;
      for (const tabId of attached.attachedIds())
        await runInTurn(tabId, () => resetTab(tabId)).catch(() => {});
    }
  });
});

/**
 * The port of the hidden page. Its connection starts the worker, and its socket shows the relay that the browser runs.
 */
let hiddenPage;
chrome.runtime.onConnect.addListener((port) => {
  hiddenPage = port;
  port.onDisconnect.addListener(() => {
    if (hiddenPage === port) hiddenPage = undefined;
  });
  if (link.isOpen) void showPresence();
});

async function showPresence() {
  const { url, protocols } = await socketOf(await readSettings());
  hiddenPage?.postMessage({ url: `${url}/presence`, protocols });
}

/** Executes a request of the relay, for attached tabs only. */
async function handleRequest({ ask, tabId, sessionId, method, params }) {
  await ready;
  if (ask === "ping") return {};
  if (ask === "list")
    return Promise.all(
      attached.attachedIds().map((id) => attached.describeTab(id).catch(() => {})),
    );
  if (ask === "open") return openTab();
  if (!attached.isAttached(tabId)) throw new Error("This tab is not attached.");
  if (ask === "command") {
    const debuggee = sessionId === undefined ? { tabId } : { tabId, sessionId };
    return chrome.debugger.sendCommand(debuggee, method, params).catch(explain);
  }
  if (ask === "reset") return runInTurn(tabId, () => resetTab(tabId));
  if (ask === "close") return chrome.tabs.remove(tabId);
  if (ask === "focus") {
    const { windowId } = await chrome.tabs.update(tabId, { active: true });
    await chrome.windows.update(windowId, { focused: true }).catch(() => {});
    return {};
  }
  throw new Error(`This version of the extension does not support "${ask}". Update the extension.`);
}

/** Unwraps an error of the protocol, which the browser passes as JSON. */
function explain(error) {
  let message;
  try {
    ({ message } = JSON.parse(error.message));
  } catch {}
  throw new Error(message ?? error.message);
}

async function resetTab(tabId) {
  try {
    return await attached.reset(tabId);
  } catch (error) {
    await releaseTab(tabId, "failed", "refused", error.message);
    throw error;
  }
}

/** Opens a new tab next to the attached ones and attaches it too, on behalf of the agent. */
async function openTab() {
  const neighbour = attached.attachedIds().at(-1);
  if (neighbour === undefined) throw new Error("No tab is attached.");
  const { windowId } = await chrome.tabs.get(neighbour);
  const { id } = await chrome.tabs.create({ windowId, url: "about:blank", active: false });
  return runInTurn(id, async () => {
    const tab = await attached.attach(id);
    link.send({ event: "attached", tab });
    await showBadge(id, "on");
    return tab;
  });
}
