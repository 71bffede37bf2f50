/** Whether an address is the one that a caller means: exactly, as a part of it, or by a glob with `*`. */
import { fitsPattern } from "portico/strings";

// A star takes slashes too: people write it for "anywhere". Not a regular expression: a caller's would backtrack.
export function urlMatcher(wanted: string): (url: string) => boolean {
  if (!wanted.includes("*")) return (url) => url === wanted || url.includes(wanted);
  const pattern = wanted.replace(/\*+/g, "*");
  return (url) => fitsPattern(pattern, url);
}
