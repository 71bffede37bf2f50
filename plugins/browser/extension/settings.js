// The settings that the options page saves: the port of the gateway's relay, and the token that identifies this
// extension.

export const DEFAULT_PORT = 18792;

export async function readSettings() {
  const { port, token } = await chrome.storage.local.get(["port", "token"]);
  return { port: Number(port) || DEFAULT_PORT, token: typeof token === "string" ? token : "" };
}

/**
 * Asks the relay whether it would accept this extension. Rejects with an Error whose message is written for the user.
 */
export async function checkPairing({ port, token }) {
  if (token === "")
    throw new Error(
      "The extension is not paired yet. Run 'portico browser extension pair', and enter the port and the token.",
    );
  let response;
  try {
    response = await fetch(`http://127.0.0.1:${port}/extension/check`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ instance: await instanceId() }),
      signal: AbortSignal.timeout(5000),
    });
  } catch {
    throw new Error(
      `Nothing responds on port ${port}. Check that the gateway is running and that this is its relay port.`,
    );
  }
  if (response.ok) return;
  const { error } = await response.json().catch(() => ({}));
  throw new Error(
    error?.message ??
      `Port ${port} responded with ${response.status}, so it is not the gateway's relay.`,
  );
}

/**
 * Returns the address of the relay's socket and the subprotocols to offer, the only way in which a page can send a
 * token.
 */
export async function socketOf({ port, token }) {
  const protocols = ["portico-relay", `token.${token}`, `instance.${await instanceId()}`];
  return { url: `ws://127.0.0.1:${port}/extension`, protocols };
}

/** Returns an id that distinguishes this browser from another one with the same extension. */
export async function instanceId() {
  const { instance } = await chrome.storage.local.get("instance");
  if (instance) return instance;
  const newInstance = crypto.randomUUID();
  await chrome.storage.local.set({ instance: newInstance });
  return newInstance;
}
