/**
 * Decides who may connect to the relay: one extension, identified by its origin, and clients that have the pairing
 * token.
 */
import { createHmac } from "node:crypto";

/**
 * Derived from `key` in the extension's manifest: the first 16 bytes of the key's SHA-256, written with the letters
 * a–p.
 */
export const EXTENSION_ID = "jjgjhlpjadmckojocchkdonppogndjhh";
export const EXTENSION_ORIGIN = `chrome-extension://${EXTENSION_ID}`;

/**
 * The subprotocol of the extension. The token is a second subprotocol (`token.…`), because a page cannot set headers.
 */
export const PROTOCOL = "portico-relay";

/**
 * The token that the extension and clients present. It is derived from the gateway's own secret and the port, so that
 * another program that listens on the port never sees the secret, and a token for one port is useless on another.
 */
export function derivePairingToken(secret: string, port: number): string {
  return createHmac("sha256", secret)
    .update(`portico-extension-relay-v1:${port}`)
    .digest("base64url");
}
