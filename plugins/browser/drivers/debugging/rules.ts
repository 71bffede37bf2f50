/**
 * What a client of the debugging port, or of the relay, may send. It has the token, and may debug as it likes; but what the browser may
 * reach is ruled for it too, and nothing that it does makes the browser listen or load code of this machine.
 */
import { parseUrl } from "portico/strings";
import type { CdpMessage } from "./message.ts";

const INVALID_REQUEST = -32_600;
const UNKNOWN_METHOD = -32_601;
const INVALID_PARAMS = -32_602;

/** The error that a message is answered with instead of going to the browser. */
export function refusalOf(id: unknown, method: unknown, params: unknown): CdpMessage["error"] {
  return (
    formRefusal(id, method, params) ??
    ruleRefusal(method as string, (params ?? {}) as Record<string, unknown>)
  );
}

/**
 * These listen on a port, load code from files, connect past the proxy, open pages of the browser's own (which may read
 * files), or carry messages past these rules.
 */
const CLOSED =
  /^(Tethering|Extensions|PWA)\.|^Browser\.executeBrowserCommand$|^Target\.(exposeDevToolsProtocol|openDevTools|sendMessageToTarget|setRemoteLocations)$/;
const OPENS_URL = new Set(["Page.navigate", "Target.createTarget"]);

function ruleRefusal(method: string, params: Record<string, unknown>): CdpMessage["error"] {
  if (CLOSED.test(method))
    return { code: UNKNOWN_METHOD, message: `${method} is not open to clients of this port` };
  if (OPENS_URL.has(method) && !isOpen(params["url"]))
    return { code: INVALID_PARAMS, message: "Only http:, https: and about:blank are opened" };
  if (
    method === "Target.createBrowserContext" &&
    ("proxyServer" in params || "proxyBypassList" in params)
  )
    return {
      code: INVALID_PARAMS,
      message: "A context has the browser's own proxy: leave proxyServer and proxyBypassList out",
    };
  return undefined;
}

/** Read as the browser reads it: white space around, and tabs and line ends within, do not count. */
function isOpen(given: unknown): boolean {
  if (given === undefined || given === "") return true;
  const url = typeof given === "string" ? parseUrl(given) : undefined;
  return url !== undefined && (/^https?:$/.test(url.protocol) || url.href === "about:blank");
}

/** To some messages the browser has no response that tells which one it is of: those are not sent to it. */
function formRefusal(id: unknown, method: unknown, params: unknown): CdpMessage["error"] {
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

/** The browser's parser takes 300 levels. */
const MAX_DEPTH = 250;

function nestsDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => nestsDeeper(inner, depth - 1));
}
