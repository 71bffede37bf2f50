/** For a schema's text: an address with a host. A pattern alone takes `http://`, which asks a host called like the path. */
export const WEB_ADDRESS = {
  pattern: "^https?://[^/]",
  format: "uri",
  expected: "an http or https address",
};
/** The same, or a WebSocket's. */
export const SOCKET_ADDRESS = {
  pattern: "^(https?|wss?)://[^/]",
  format: "uri",
  expected: "an http, https, ws or wss address",
};

/**
 * The URL, or undefined where it is none. Not `URL.canParse`: Node 20 takes a text with letters like `ü` for UTF-8 there
 * once that call is optimized, and refuses what it took before.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
