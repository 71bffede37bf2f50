/** Regular expressions of the configuration, in an engine whose time is linear. The only importer of `re2js`. */
import { PorticoError } from "portico";

/** True where the text holds a match. */
export type Pattern = (text: string) => boolean;

/** Longest text that is searched. */
const MOST_CHARS = 64 * 1024;

/**
 * Back-references and look-arounds are refused, and so is a repetition of what repeats itself (`(a+)+`): here it would
 * do no harm, but whoever wrote it has tested it against an engine where it hangs.
 */
export async function readPattern(source: string, key: string): Promise<Pattern> {
  const refuse = (why: string) =>
    new PorticoError("invalid_request_error", `${key}: the pattern ${why}.`, { param: key });
  if (source.length > 1000) throw refuse("is longer than 1000 characters");
  if (nests(source))
    throw refuse(
      "repeats what repeats itself, which takes for ever on the wrong text: write it flat",
    );
  const { RE2JS } = await import("re2js");
  let compiled: { matcher(text: string): { find(): boolean } };
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    throw refuse(`is not understood (${error instanceof Error ? error.message : String(error)})`);
  }
  return (text) => compiled.matcher(text.slice(0, MOST_CHARS)).find();
}

/** An unbounded repetition of a group that holds one. */
function nests(source: string): boolean {
  const groups: { repeats: boolean }[] = [{ repeats: false }];
  for (let i = 0; i < source.length; i++) {
    const sign = source[i];
    if (sign === "\\") i++;
    else if (sign === "[") i = endOfClass(source, i);
    else if (sign === "(") groups.push({ repeats: false });
    else if (sign === ")") {
      const inner = groups.length > 1 ? groups.pop() : undefined;
      const repeated = isUnbounded(source, i + 1);
      if (inner?.repeats && repeated) return true;
      const outer = groups.at(-1);
      if (outer && (inner?.repeats || repeated)) outer.repeats = true;
    } else if (isUnbounded(source, i)) {
      const here = groups.at(-1);
      if (here) here.repeats = true;
    }
  }
  return false;
}

function isUnbounded(source: string, at: number): boolean {
  const sign = source[at];
  return sign === "*" || sign === "+" || (sign === "{" && /^\{\d+,\}/.test(source.slice(at)));
}

function endOfClass(source: string, from: number): number {
  for (let i = from + 1; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === "]" && i > from + 1) return i;
  }
  return source.length;
}
