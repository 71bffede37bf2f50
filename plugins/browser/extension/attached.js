// The tabs that the user has attached. The list survives the end of the worker (chrome.storage.session), but not that
// of the browser.

const ALLOWED_URL = /^(https?:|about:blank$)/;
const WEB_STORES =
  /^https:\/\/(chromewebstore\.google\.com|chrome\.google\.com\/webstore|microsoftedge\.microsoft\.com\/addons)(\/|$)/;

/** Returns the reason why a page cannot be attached, or undefined if it can. */
export function findRefusal(url) {
  if (WEB_STORES.test(url)) return "pages of the web store cannot be attached.";
  if (ALLOWED_URL.test(url)) return undefined;
  return "only http, https and about:blank pages can be attached, not the pages of the browser itself or of extensions.";
}

/**
 * Maps a tab id to {targetId, attachment}. `attachment` changes with each attachment of the debugger, which resets
 * everything that was set on the tab.
 */
const tabs = new Map();

const save = () => chrome.storage.session.set({ tabs: [...tabs] });
const addressOf = (tab) => tab.url || tab.pendingUrl || "";

export const isAttached = (tabId) => tabs.has(tabId);
export const attachedIds = () => [...tabs.keys()];

/** Returns the description of a tab that the extension sends to the relay. */
export async function describeTab(tabId) {
  const tab = await chrome.tabs.get(tabId);
  return { tabId, ...tabs.get(tabId), title: tab.title ?? "", url: addressOf(tab) };
}

/** Attaches the debugger. Rejects if the page does not allow it. */
export async function attach(tabId) {
  const reason = findRefusal(addressOf(await chrome.tabs.get(tabId)));
  if (reason !== undefined) throw new Error(reason);
  await chrome.debugger.attach({ tabId }, "1.3");
  const previous = tabs.get(tabId);
  try {
    const { targetInfo } = await chrome.debugger.sendCommand({ tabId }, "Target.getTargetInfo");
    tabs.set(tabId, { targetId: targetInfo.targetId, attachment: crypto.randomUUID() });
    await save();
    return await describeTab(tabId);
  } catch (error) {
    if (previous === undefined) tabs.delete(tabId);
    else tabs.set(tabId, previous);
    await save().catch(() => {});
    await chrome.debugger.detach({ tabId }).catch(() => {});
    throw error;
  }
}

export async function detach(tabId) {
  if (!tabs.delete(tabId)) return;
  await save();
  await chrome.debugger.detach({ tabId }).catch(() => {});
}

/** Removes everything that a client has set on the tab (overrides, interceptions), by attaching the debugger again. */
export async function reset(tabId) {
  await chrome.debugger.detach({ tabId }).catch(() => {});
  return attach(tabId);
}

/**
 * Restores the list after the worker was ended. The debugger is usually still attached; where it is not, it is attached
 * again. Returns the ids of the tabs that were lost.
 */
export async function restore() {
  const { tabs: stored = [] } = await chrome.storage.session.get("tabs");
  for (const [tabId, tab] of stored) tabs.set(tabId, tab);
  const lost = [];
  for (const tabId of attachedIds()) {
    try {
      await chrome.debugger.sendCommand({ tabId }, "Target.getTargetInfo");
    } catch {
      await attach(tabId).catch(() => {
        tabs.delete(tabId);
        lost.push(tabId);
      });
    }
  }
  if (stored.length > 0) await save();
  return lost;
}
