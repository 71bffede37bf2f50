/** Links between pages, which are written as paths of files so that they work on GitHub and in the documentation alike. */
import { dirname, join } from "node:path";
import type { Page } from "./pages.ts";

const repository = "https://github.com/portico-gateway/portico/blob/main";

export const addressOf = (url: string): string => (url === "index" ? "/docs" : `/docs/${url}`);

/**
 * The address for a link of a page: a file that has a page becomes that page, any other one the file in the repository.
 * `urls` has the page of each source. Throws where a page that GitHub shows too links to an address of the documentation.
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
