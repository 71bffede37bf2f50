/** Queries a page for properties of its document. */
import { attempt } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";

export interface PageAbout {
  title: string;
  /** The number of elements. */
  elements: number;
  /**
   * The root to take a snapshot of: a document that is not an HTML page (an SVG image) has no body, an empty document
   * has nothing.
   */
  root: "body" | ":root" | "none";
  /** The media type of the document: `text/html`, `application/pdf`, `image/png`. */
  contentType: string;
}

// A page that is still loading will get its body later.
const EXPRESSION = `[
  String(document.title),
  document.getElementsByTagName("*").length,
  document.readyState === "loading" || document.querySelector("body, frameset") ? "body" : document.documentElement ? ":root" : "none",
  document.contentType,
]`;

/** The time in ms to wait for the page's response. */
const RESPONSE_MS = 1_000;

/**
 * Creates a function that queries the page at its first call. Each call waits a moment for the response, and returns an
 * empty title, 0 and `body` if the page is too busy; the next call may get the response. If the page was left before it
 * responded, the next call repeats the query.
 */
export function createPageQuery(cdp: CDPSession): () => Promise<PageAbout> {
  const evaluate = () =>
    cdp.send("Runtime.evaluate", { expression: EXPRESSION, returnByValue: true });
  let evaluation: ReturnType<typeof evaluate> | undefined;
  return async () => {
    evaluation = evaluation?.catch(evaluate) ?? evaluate();
    const values = (await attempt(RESPONSE_MS, evaluation, undefined))?.result.value as
      | [unknown, unknown, unknown, unknown]
      | undefined;
    const [title = "", elements = 0, root, contentType = ""] = values ?? [];
    return {
      title: String(title),
      elements: Number(elements) || 0,
      root: root === ":root" || root === "none" ? root : "body",
      contentType: String(contentType),
    };
  };
}
