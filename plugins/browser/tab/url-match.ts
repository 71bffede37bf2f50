/** Whether an address is the one that a caller means: exactly, as a part of it, or by a glob with `*`. */
import { fitsPattern, parseUrl } from "portico/strings";

// A star takes slashes too: people write it for "anywhere". Not a regular expression: a caller's would backtrack.
export function urlMatcher(wanted: string): (url: string) => boolean {
  if (!wanted.includes("*")) return (url) => url === wanted || url.includes(wanted);
  const pattern = wanted.replace(/\*+/g, "*");
  // One that begins with the path is about any host.
  const isPath = /^\/(?!\/)/.test(pattern);
  return (url) => fitsPattern(pattern, isPath ? pathOf(url) : url);
}

/** Path, query and fragment. */
function pathOf(url: string): string {
  const { pathname = "", search = "", hash = "" } = parseUrl(url) ?? {};
  return pathname + search + hash;
}
