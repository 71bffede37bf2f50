/** Resolves a `cdpUrl` to its debugging socket. Credentials are passed along and never shown. */
import { isPorticoError, type PorticoError } from "portico";
import { createOwnerGuard, guardedFetch } from "portico/egress";
import { errors } from "../errors.ts";
import { redactUrl } from "../profiles.ts";

/** A browser's own response has a few hundred bytes. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

export interface Endpoint {
  wsUrl: string;
  headers: Record<string, string>;
}

/**
 * Moves the credentials of a URL into a Basic authorization header: neither `fetch` nor `ws` accept them in the URL.
 */
function splitCredentials(cdpUrl: string): { url: URL; headers: Record<string, string> } {
  const url = new URL(cdpUrl);
  if (url.username === "" && url.password === "") return { url, headers: {} };
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { url, headers: { authorization: `Basic ${Buffer.from(pair).toString("base64")}` } };
}

/**
 * Requests `/json/version` of a `cdpUrl` to find the browser's socket (a `ws:` URL is one already). The host and scheme
 * of the socket are those of `cdpUrl`, whatever address the browser reports, and the query (a token) is kept. Rejects
 * with a 409 if nothing responds, with a 504 after `timeoutMs`.
 */
export async function findEndpoint(
  cdpUrl: string,
  timeoutMs: number,
  extraHeaders: Record<string, string> = {},
): Promise<Endpoint> {
  const { url, headers: credentialHeaders } = splitCredentials(cdpUrl);
  const headers = { ...credentialHeaders, ...extraHeaders };
  if (url.protocol === "ws:" || url.protocol === "wss:") return { wsUrl: url.href, headers };
  const displayUrl = redactUrl(cdpUrl);
  const versionUrl = new URL(url);
  versionUrl.pathname = `${url.pathname.replace(/\/+$/, "")}/json/version`;
  const { status, body } = await fetchVersion(versionUrl, headers, timeoutMs).catch(
    (cause: unknown) => {
      throw explainFailure(cause, displayUrl, timeoutMs);
    },
  );
  if (status < 200 || status > 299) {
    const hint = status === 401 || status === 403 ? " Check the credentials in cdpUrl." : "";
    throw errors.endpointStatus({ address: displayUrl, status, hint });
  }
  if (typeof body.webSocketDebuggerUrl !== "string") {
    throw errors.noDebuggingSocket({ address: displayUrl });
  }
  const socket = new URL(body.webSocketDebuggerUrl);
  socket.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  socket.host = url.host;
  // Assigning a `host` without a port keeps the old port.
  if (url.port === "") socket.port = "";
  for (const [name, value] of url.searchParams)
    if (!socket.searchParams.has(name)) socket.searchParams.append(name, value);
  return { wsUrl: socket.href, headers };
}

interface Version {
  webSocketDebuggerUrl?: unknown;
}

async function fetchVersion(
  url: URL,
  headers: Record<string, string>,
  timeoutMs: number,
): Promise<{ status: number; body: Version }> {
  const { status, body } = await guardedFetch(createOwnerGuard(url), url, {
    headers,
    timeoutMs,
    redirects: 0,
    maxBytes: MAX_RESPONSE_BYTES,
  });
  const isSuccess = status >= 200 && status <= 299;
  return { status, body: isSuccess ? ((JSON.parse(body.toString("utf8")) ?? {}) as Version) : {} };
}

function explainFailure(cause: unknown, displayUrl: string, timeoutMs: number): PorticoError {
  const code = isPorticoError(cause) ? cause.code : undefined;
  if (code === "upstream_timeout")
    return errors.endpointSilent({ address: displayUrl, ms: timeoutMs }, { cause });
  if (code === "response_too_large")
    return errors.endpointNoBrowser({ address: displayUrl, bytes: MAX_RESPONSE_BYTES }, { cause });
  return errors.endpointUnreachable({ address: displayUrl }, { cause });
}
