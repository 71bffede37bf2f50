/**
 * True if a name matches a pattern, in which `*` stands for any sequence of characters, including `/`. Case matters.
 *
 * It is our own, because names come from callers: picomatch takes a third of the time for `claude-*` (30 ns against 100),
 * but its patterns backtrack (`*a*a*a*a*b` against 400 letters takes minutes). Here the time is linear in the name.
 */
export function fitsPattern(pattern: string, name: string): boolean {
  if (!pattern.includes("*")) return pattern === name;
  const parts = pattern.split("*");
  const head = parts[0]!;
  const tail = parts[parts.length - 1]!;
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail))
    return false;
  let at = head.length;
  const end = name.length - tail.length;
  for (const part of parts.slice(1, -1)) {
    const index = name.indexOf(part, at);
    if (index === -1 || index + part.length > end) return false;
    at = index + part.length;
  }
  return true;
}
