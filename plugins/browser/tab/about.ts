/** What a page says of its document. */
import { attempt } from "../deadline.ts";
import type { CDPSession } from "../drivers/playwright.ts";

export interface About {
  title: string;
  /** How many elements there are. */
  elements: number;
  /** What holds them all: a document that is no HTML page (an SVG image) has no body, an empty one nothing. */
  root: "body" | ":root" | "none";
}

// A page that is still loading gets its body yet.
const EXPRESSION = `[
  String(document.title),
  document.getElementsByTagName("*").length,
  document.readyState === "loading" || document.querySelector("body, frameset") ? "body" : document.documentElement ? ":root" : "none",
]`;

/** An empty title, 0 and `body` where the page is too busy to say it. */
export async function aboutDocument(cdp: CDPSession): Promise<About> {
  const asking = cdp.send("Runtime.evaluate", { expression: EXPRESSION, returnByValue: true });
  const told = (await attempt(1000, asking, undefined))?.result.value as [unknown, unknown, unknown] | undefined;
  const [title = "", elements = 0, root] = told ?? [];
  return {
    title: String(title),
    elements: Number(elements) || 0,
    root: root === ":root" || root === "none" ? root : "body",
  };
}
