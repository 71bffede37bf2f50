/**
 * Decides what a client of the debugging port, or of the relay, may send. A client with the token may debug freely, but
 * the policy on reachable addresses applies to it too, and no command may make the browser listen or load code of this
 * machine.
 */
import { parseUrl } from "portico/strings";
import type { CdpMessage } from "./message.ts";

const INVALID_REQUEST = -32_600;
const UNKNOWN_METHOD = -32_601;
const INVALID_PARAMS = -32_602;

/** Returns the error for a message that must not reach the browser, or `undefined` if it may. */
export function checkMessage(id: unknown, method: unknown, params: unknown): CdpMessage["error"] {
  return (
    checkForm(id, method, params) ??
    checkRules(method as string, (params ?? {}) as Record<string, unknown>)
  );
}

/**
 * Forbidden methods: they listen on a port, load code from files, connect around the proxy, open the browser's internal
 * pages (which may read files), or carry messages around these rules.
 */
const FORBIDDEN_METHODS =
  /^(Tethering|Extensions|PWA)\.|^Browser\.executeBrowserCommand$|^Target\.(exposeDevToolsProtocol|openDevTools|sendMessageToTarget|setRemoteLocations)$/;
const URL_METHODS = new Set(["Page.navigate", "Target.createTarget"]);

function checkRules(method: string, params: Record<string, unknown>): CdpMessage["error"] {
  if (FORBIDDEN_METHODS.test(method))
    return { code: UNKNOWN_METHOD, message: `${method} is not available to clients of this port` };
  if (URL_METHODS.has(method) && !isAllowedUrl(params["url"]))
    return { code: INVALID_PARAMS, message: "Only http:, https: and about:blank can be opened" };
  if (
    method === "Target.createBrowserContext" &&
    ("proxyServer" in params || "proxyBypassList" in params)
  )
    return {
      code: INVALID_PARAMS,
      message:
        "A browser context always uses the browser's proxy: leave out proxyServer and proxyBypassList",
    };
  return undefined;
}

/** Parses the URL as the browser does: it ignores white space around it, and tabs and line breaks in it. */
function isAllowedUrl(value: unknown): boolean {
  if (value === undefined || value === "") return true;
  const url = typeof value === "string" ? parseUrl(value) : undefined;
  return url !== undefined && (/^https?:$/.test(url.protocol) || url.href === "about:blank");
}

/**
 * Refuses malformed messages: to some, the browser's response does not name the request, so they are not sent to it.
 */
function checkForm(id: unknown, method: unknown, params: unknown): CdpMessage["error"] {
  if (!Number.isSafeInteger(id))
    return { code: INVALID_REQUEST, message: "Message must have integer 'id' property" };
  if (typeof method !== "string")
    return { code: INVALID_REQUEST, message: "Message must have string 'method' property" };
  if (!/^\w+\.\w+$/.test(method))
    return { code: UNKNOWN_METHOD, message: "The method wasn't found" };
  if (params === undefined) return undefined;
  if (typeof params !== "object" || params === null || Array.isArray(params))
    return { code: INVALID_REQUEST, message: "Message may have object 'params' property" };
  if (nestsDeeper(params, MAX_DEPTH))
    return { code: INVALID_REQUEST, message: "Message nests too deeply" };
  return undefined;
}

/** The browser's parser accepts 300 levels. */
const MAX_DEPTH = 250;

function nestsDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => nestsDeeper(inner, depth - 1));
}
