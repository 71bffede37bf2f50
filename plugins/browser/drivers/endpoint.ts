/** Resolves a `cdpUrl` to its debugging socket. Credentials are passed along and never shown. */
import { isPorticoError, type PorticoError } from "portico";
import { createOwnerGuard, guardedFetch } from "portico/egress";
import { errors } from "../errors.ts";
import { shownUrl } from "../profiles.ts";

/** A browser's own answer has some hundred bytes. */
const MOST_BYTES = 1024 * 1024;

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
  const { status, body } = await askVersion(ask, headers, timeoutMs).catch((cause: unknown) => {
    throw noAnswer(cause, shown, timeoutMs);
  });
  if (status < 200 || status > 299) {
    const hint = status === 401 || status === 403 ? " Check the credentials in cdpUrl." : "";
    throw errors.endpointStatus({ address: shown, status, hint });
  }
  if (typeof body.webSocketDebuggerUrl !== "string") {
    throw errors.noDebuggingSocket({ address: shown });
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

interface Version {
  webSocketDebuggerUrl?: unknown;
}

async function askVersion(
  url: URL,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<{ status: number; body: Version }> {
  const { status, body } = await guardedFetch(createOwnerGuard(url), url, {
    headers,
    timeoutMs,
    redirects: 0,
    maxBytes: MOST_BYTES,
  });
  const isGood = status >= 200 && status <= 299;
  return { status, body: isGood ? ((JSON.parse(body.toString("utf8")) ?? {}) as Version) : {} };
}

function noAnswer(cause: unknown, shown: string, timeoutMs: number): PorticoError {
  const code = isPorticoError(cause) ? cause.code : undefined;
  if (code === "upstream_timeout")
    return errors.endpointSilent({ address: shown, ms: timeoutMs }, { cause });
  if (code === "response_too_large")
    return errors.endpointNoBrowser({ address: shown, bytes: MOST_BYTES }, { cause });
  return errors.endpointUnreachable({ address: shown }, { cause });
}
