/**
 * The schema options of an http or https address. The pattern requires a host, since the format alone would accept
 * `http:///path`, whose host is then `path`.
 */
export const WEB_ADDRESS = {
  pattern: "^https?://[^/]",
  format: "uri",
  expected: "an http or https address",
};
/** The schema options of an http, https, ws or wss address. */
export const SOCKET_ADDRESS = {
  pattern: "^(https?|wss?)://[^/]",
  format: "uri",
  expected: "an http, https, ws or wss address",
};

/**
 * Parses a URL. Returns undefined if the text is not one. It does not use `URL.canParse`, because Node 20 misreads a text
 * with letters like `ü` as UTF-8 after that call is optimised, and then refuses valid URLs.
 */
export function parseUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
