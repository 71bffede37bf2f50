/** Who may speak to the relay: one extension by its origin, and whoever knows the pairing token. */
import { createHmac } from "node:crypto";

/** Follows from `key` in the extension's manifest: SHA-256 of the key, its first 16 bytes written with a–p. */
export const EXTENSION_ID = "jjgjhlpjadmckojocchkdonppogndjhh";
export const EXTENSION_ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/** The subprotocol of the extension; its token comes as a second one (`token.…`), for a page can set no header. */
export const PROTOCOL = "portico-relay";

/**
 * The token that extension and clients show: derived from the gateway's own secret and the port, so that whoever else
 * listens on the port never sees that secret, and a token of one port is worth nothing on another.
 */
export function pairingToken(secret: string, port: number): string {
  return createHmac("sha256", secret)
    .update(`portico-extension-relay-v1:${port}`)
    .digest("base64url");
}
