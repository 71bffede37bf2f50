/** Reads a page as the browser renders it, in a separate tab. */
import type { BrowserService } from "portico/browser";
import { errors } from "../errors.ts";
import { type ReadRequest, CheckFailed, createFieldMissingError } from "./source.ts";

interface Tab {
  targetId: string;
}
interface NavigationResult {
  url: string;
  status: number | null;
}

/**
 * The guard checks the address before and after the navigation. The browser's own policy applies to everything that the
 * page loads.
 */
export async function renderPage(
  request: ReadRequest,
): Promise<{ html: string; url: string; status?: number }> {
  const { source, guard, timeoutMs, maxBytes } = request;
  const { url, kind } = source;
  if (url === undefined) throw createFieldMissingError("url", kind);
  await guard.checkUrl(url);
  const browser = request.browser();
  const { targetId } = await requestBrowser<Tab>(browser, "/tabs/open", { url: "about:blank" });
  try {
    const { url: finalUrl, status } = await requestBrowser<NavigationResult>(browser, "/navigate", {
      targetId,
      url,
      timeoutMs,
      waitUntil: "load",
    });
    await guard.checkUrl(finalUrl);
    if (status !== null && (status < 200 || status > 299))
      throw new CheckFailed(`The server responded with status ${status}.`, { status });
    const fn = "() => document.documentElement.outerHTML";
    const { result } = await requestBrowser<{ result?: unknown }>(browser, "/act", {
      kind: "evaluate",
      targetId,
      fn,
    });
    if (typeof result !== "string" || result === "")
      throw new CheckFailed("The browser shows no page.");
    if (Buffer.byteLength(result) > maxBytes)
      throw new CheckFailed(`The page is larger than ${maxBytes} bytes.`);
    return { html: `<!doctype html>${result}`, url: finalUrl, status: status ?? undefined };
  } finally {
    await browser
      .request({ method: "DELETE", route: "/tabs/:targetId", params: { targetId } })
      .catch(() => {});
  }
}

async function requestBrowser<T>(
  browser: BrowserService,
  route: string,
  body: Record<string, unknown>,
): Promise<T> {
  const response = await browser.request({ method: "POST", route, body });
  if ("bytes" in response) throw errors.fileFromBrowser({ route });
  return response.body as T;
}
