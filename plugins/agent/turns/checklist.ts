/** HEARTBEAT.md, and the answer that says that nothing needs attention. Both are read in one pass, whatever is in them. */

/** What the model is asked to answer where there is nothing to say. */
export const OK = "HEARTBEAT_OK";
/** The longest text that may follow it. */
const OK_CHARS = 300;

/** More than headings, comments and blank lines. */
export function hasSubstance(text: string): boolean {
  return withoutComments(text)
    .split("\n")
    .some((line) => {
      const start = line.trimStart();
      return start !== "" && !start.startsWith("#");
    });
}

/** Without `<!-- … -->`; one that is never closed is text. */
function withoutComments(text: string): string {
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

/** True for an answer that begins or ends with `HEARTBEAT_OK` and says little beside it. */
export function isSilent(text: string): boolean {
  // the marks of Markdown and the underline in its own name count as blanks
  const bare = text.replace(/[*_`#\s]+/g, " ").trim();
  let end = bare.length;
  while (bare[end - 1] === "." || bare[end - 1] === "!") end--;
  const plain = bare.slice(0, end);
  const ack = OK.replaceAll("_", " ");
  return (plain.startsWith(ack) || plain.endsWith(ack)) && plain.length - OK.length <= OK_CHARS;
}
