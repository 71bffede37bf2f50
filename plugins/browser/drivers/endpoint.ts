/** From a `cdpUrl` to the socket that it stands for. Credentials go along and are never shown. */
import { PorticoError } from "portico";
import { shownUrl } from "../session/profiles.ts";

export interface Endpoint {
  wsUrl: string;
  headers: Record<string, string>;
}

/** Basic credentials of a URL as a header, and the URL without them: neither `fetch` nor `ws` take them there. */
function split(cdpUrl: string): { url: URL; headers: Record<string, string> } {
  const url = new URL(cdpUrl);
  if (url.username === "" && url.password === "") return { url, headers: {} };
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { url, headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } };
}

/**
 * Asks `/json/version` of a `cdpUrl` for the browser's socket (a `ws:` URL is one already). The socket's host and
 * scheme are those of `cdpUrl`, whatever the browser believes its own address to be, and the query (a token) is kept.
 * 409 where nobody answers, 504 after `timeoutMs`.
 */
export async function findEndpoint(
  cdpUrl: string,
  timeoutMs: number,
  more: Record<string, string> = {},
): Promise<Endpoint> {
  const { url, headers: own } = split(cdpUrl);
  const headers = { ...own, ...more };
  if (url.protocol === "ws:" || url.protocol === "wss:") return { wsUrl: url.href, headers };
  const shown = shownUrl(cdpUrl);
  const ask = new URL(url);
  ask.pathname = `${url.pathname.replace(/\/+$/, "")}/json/version`;
  let response: Response;
  let body: { webSocketDebuggerUrl?: string };
  try {
    response = await fetch(ask, {
      headers,
      signal: AbortSignal.timeout(timeoutMs),
      redirect: "error",
    });
    body = response.ok ? ((await response.json()) as typeof body) : {};
  } catch (cause) {
    if ((cause as Error).name === "TimeoutError") {
      throw new PorticoError(
        "timeout",
        `The browser at ${shown} did not answer within ${timeoutMs} ms.`,
        { cause },
      );
    }
    throw new PorticoError(
      "browser_not_running",
      `No browser answers at ${shown}: start it there, or correct the profile's cdpUrl.`,
      { cause },
    );
  }
  if (!response.ok) {
    const hint =
      response.status === 401 || response.status === 403 ? " Check the credentials in cdpUrl." : "";
    throw new PorticoError(
      "browser_not_running",
      `The browser at ${shown} answered ${response.status}.${hint}`,
    );
  }
  if (typeof body.webSocketDebuggerUrl !== "string") {
    throw new PorticoError(
      "browser_not_running",
      `${shown} names no debugging socket yet: no browser (or no tab) is attached there.`,
    );
  }
  const socket = new URL(body.webSocketDebuggerUrl);
  socket.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  socket.host = url.host;
  // `host` without a port keeps the old one.
  if (url.port === "") socket.port = "";
  for (const [name, value] of url.searchParams)
    if (!socket.searchParams.has(name)) socket.searchParams.append(name, value);
  return { wsUrl: socket.href, headers };
}
