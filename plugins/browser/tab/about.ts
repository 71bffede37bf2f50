/** What a page says of its document. */
import { attempt } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";

export interface About {
  title: string;
  /** How many elements there are. */
  elements: number;
  /** What holds them all: a document that is no HTML page (an SVG image) has no body, an empty one nothing. */
  root: "body" | ":root" | "none";
  /** What kind of document it is: `text/html`, `application/pdf`, `image/png`. */
  contentType: string;
}

// A page that is still loading gets its body yet.
const EXPRESSION = `[
  String(document.title),
  document.getElementsByTagName("*").length,
  document.readyState === "loading" || document.querySelector("body, frameset") ? "body" : document.documentElement ? ":root" : "none",
  document.contentType,
]`;

/** How long it is waited for what a page says of itself. */
const TELLS_MS = 1_000;

/**
 * A question to the page, asked with the first call. Each call waits a moment for the response: an empty title, 0 and
 * `body` where the page is too busy, which it may not be any more by the next call. Where the page was left before it
 * responded, the next call asks again.
 */
export function questionAbout(cdp: CDPSession): () => Promise<About> {
  const ask = () => cdp.send("Runtime.evaluate", { expression: EXPRESSION, returnByValue: true });
  let asking: ReturnType<typeof ask> | undefined;
  return async () => {
    asking = asking?.catch(ask) ?? ask();
    const told = (await attempt(TELLS_MS, asking, undefined))?.result.value as
      | [unknown, unknown, unknown, unknown]
      | undefined;
    const [title = "", elements = 0, root, contentType = ""] = told ?? [];
    return {
      title: String(title),
      elements: Number(elements) || 0,
      root: root === ":root" || root === "none" ? root : "body",
      contentType: String(contentType),
    };
  };
}
