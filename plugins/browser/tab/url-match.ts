/** Matches addresses against a caller's text: exactly, as a substring, or as a glob with `*`. */
import { fitsPattern, parseUrl } from "portico/strings";

// A star also matches slashes, since users write it for "anything". This is not a regular expression, because a
// caller's pattern could backtrack.
export function createUrlMatcher(text: string): (url: string) => boolean {
  if (!text.includes("*")) return (url) => url === text || url.includes(text);
  const pattern = text.replace(/\*+/g, "*");
  // A pattern that begins with a path matches any host.
  const isPath = /^\/(?!\/)/.test(pattern);
  return (url) => fitsPattern(pattern, isPath ? pathOf(url) : url);
}

/** Returns path, query and fragment of a URL. */
function pathOf(url: string): string {
  const { pathname = "", search = "", hash = "" } = parseUrl(url) ?? {};
  return pathname + search + hash;
}
