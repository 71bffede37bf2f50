/** Parses HEARTBEAT.md and the response to a heartbeat. The time is linear in the length of either text. */

/** The response that the prompt asks for if nothing needs attention. */
export const OK = "HEARTBEAT_OK";
/** The longest text beside it in a response that still counts as silent. */
const OK_CHARS = 300;

/** Returns whether the text has more than headings, comments and blank lines. */
export function hasSubstance(text: string): boolean {
  return removeComments(text)
    .split("\n")
    .some((line) => {
      const start = line.trimStart();
      return start !== "" && !start.startsWith("#");
    });
}

/** Removes `<!-- … -->`. A comment that is never closed counts as text. */
function removeComments(text: string): string {
  let rest = "";
  let at = 0;
  for (;;) {
    const open = text.indexOf("<!--", at);
    const close = open < 0 ? -1 : text.indexOf("-->", open + 4);
    if (close < 0) return rest + text.slice(at);
    rest += text.slice(at, open);
    at = close + 3;
  }
}

/** Returns whether a response begins or ends with `HEARTBEAT_OK` and contains little else. */
export function isSilent(text: string): boolean {
  // Markdown marks, and the underscore in the token itself, count as blanks.
  const bare = text.replace(/[*_`#\s]+/g, " ").trim();
  let end = bare.length;
  while (bare[end - 1] === "." || bare[end - 1] === "!") end--;
  const plain = bare.slice(0, end);
  const ack = OK.replaceAll("_", " ");
  return (plain.startsWith(ack) || plain.endsWith(ack)) && plain.length - OK.length <= OK_CHARS;
}
