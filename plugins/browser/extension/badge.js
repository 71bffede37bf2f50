// Shows the state of a tab on the icon. The browser resets the icon at each navigation, so it is set again then.

const BADGES = {
  on: { text: "ON", color: "#2e7d32", title: "Portico controls this tab. Click to detach it." },
  waiting: { text: "…", color: "#b26a00", title: "Portico: waiting for the gateway" },
  refused: { text: "!", color: "#c62828", title: "Portico" },
  off: { text: "", color: "#2e7d32", title: "Portico: click to let the agent control this tab" },
};

export async function showBadge(tabId, look, why) {
  const { text, color, title } = BADGES[look];
  try {
    // Set the text last, so that the title already holds the reason when the text appears.
    await chrome.action.setTitle({ tabId, title: why === undefined ? title : `Portico: ${why}` });
    await chrome.action.setBadgeBackgroundColor({ tabId, color });
    await chrome.action.setBadgeText({ tabId, text });
  } catch {
    // The tab no longer exists.
  }
}
