/** A page as the browser renders it, in a tab of its own. */
import type { BrowserService } from "portico/browser";
import { errors } from "../errors.ts";
import { type ReadRequest, CheckFailed, fieldMissing } from "./source.ts";

interface Tab {
  targetId: string;
}
interface Navigated {
  url: string;
  status: number | null;
}

/** Judged as every other source before the browser sees it; what it loads then is judged by the browser's own policy. */
export async function renderedPage(
  request: ReadRequest,
): Promise<{ html: string; url: string; status?: number }> {
  const { source, guard, timeoutMs, maxBytes } = request;
  const { url, kind } = source;
  if (url === undefined) throw fieldMissing("url", kind);
  await guard.checkUrl(url);
  const browser = request.browser();
  const { targetId } = await ask<Tab>(browser, "/tabs/open", { url: "about:blank" });
  try {
    const { url: reached, status } = await ask<Navigated>(browser, "/navigate", {
      targetId,
      url,
      timeoutMs,
      waitUntil: "load",
    });
    await guard.checkUrl(reached);
    if (status !== null && (status < 200 || status > 299))
      throw new CheckFailed(`The server answered ${status}.`, { status });
    const fn = "() => document.documentElement.outerHTML";
    const { result } = await ask<{ result?: unknown }>(browser, "/act", {
      kind: "evaluate",
      targetId,
      fn,
    });
    if (typeof result !== "string" || result === "")
      throw new CheckFailed("The browser shows no page.");
    if (Buffer.byteLength(result) > maxBytes)
      throw new CheckFailed(`The page is larger than ${maxBytes} bytes.`);
    return { html: `<!doctype html>${result}`, url: reached, status: status ?? undefined };
  } finally {
    await browser
      .request({ method: "DELETE", route: "/tabs/:targetId", params: { targetId } })
      .catch(() => {});
  }
}

async function ask<T>(
  browser: BrowserService,
  route: string,
  body: Record<string, unknown>,
): Promise<T> {
  const response = await browser.request({ method: "POST", route, body });
  if ("bytes" in response) throw errors.fileFromBrowser({ route });
  return response.body as T;
}
