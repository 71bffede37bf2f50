/**
 * Resolves links between pages, which are written as file paths so that they work on GitHub and in the documentation
 * alike.
 */
import { dirname, join } from "node:path";
import type { Page } from "./pages.ts";

const repository = "https://github.com/portico-gateway/portico/blob/main";

export const addressOf = (url: string): string => (url === "index" ? "/docs" : `/docs/${url}`);

/**
 * Returns the address for a link: that of the page for a file that has one, otherwise that of the file in the
 * repository. `urls` has the page of each source. Throws if a page that GitHub also shows links to an address of the
 * documentation.
 */
export function hrefOf(
  href: string,
  { source }: Pick<Page, "source">,
  urls: ReadonlyMap<string, string>,
): string {
  if (/^(?:[a-z]+:|#)/i.test(href) || source === undefined) return href;
  if (href.startsWith("/"))
    throw new Error(
      `${source} links to ${href}, which GitHub does not have: write the path of a file.`,
    );
  const [path = "", anchor] = href.split("#");
  const file = join(dirname(source), path);
  const url = urls.get(file) ?? urls.get(`${file.replace(/\/$/, "")}/README.md`);
  const fragment = anchor === undefined ? "" : `#${anchor}`;
  return url === undefined ? `${repository}/${file}` : addressOf(url) + fragment;
}
