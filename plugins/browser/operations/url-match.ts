/** Whether an address is the one that a caller means: exactly, as a part of it, or by a glob with `*`. */
export function urlMatcher(wanted: string): (url: string) => boolean {
  if (!wanted.includes("*")) return (url) => url === wanted || url.includes(wanted);
  const pattern = wanted
    .split(/(\*\*|\*)/)
    .map((part) => (part === "**" ? ".*" : part === "*" ? "[^/]*" : part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")))
    .join("");
  const whole = new RegExp(`^${pattern}$`, "s");
  // `*/api/*` means "anywhere", as people write it.
  const loose = new RegExp(`^${pattern.replaceAll("[^/]*", ".*")}$`, "s");
  return (url) => whole.test(url) || loose.test(url);
}
