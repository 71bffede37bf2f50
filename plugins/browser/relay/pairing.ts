/** Who may connect to the relay: one extension, identified by its origin, and clients that know the pairing token. */
import { createHmac } from "node:crypto";

/** Follows from `key` in the extension's manifest: SHA-256 of the key, its first 16 bytes written with a–p. */
export const EXTENSION_ID = "jjgjhlpjadmckojocchkdonppogndjhh";
export const EXTENSION_ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/** The subprotocol of the extension; its token comes as a second one (`token.…`), for a page can set no header. */
export const PROTOCOL = "portico-relay";

/**
 * The token that the extension and clients present. It is derived from the gateway's own secret and the port, so that
 * another program that listens on the port never sees the secret, and a token for one port is useless on another.
 */
export function pairingToken(secret: string, port: number): string {
  return createHmac("sha256", secret)
    .update(`portico-extension-relay-v1:${port}`)
    .digest("base64url");
}
