/** Arguments of tool calls: texts that are to hold JSON. */
import { parseCounted, stringifyExact, TooManyValues } from "../json/exact-json.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";

/**
 * The arguments of a whole call as text. Most formats have an object, some servers of theirs a text of their own. `cut`: the
 * response ended at a limit or a filter, so that the text may be incomplete.
 */
export function completeArguments(input: unknown, cut = false): string {
  if (typeof input !== "string") return stringifyExact(input ?? {});
  if (input.trim() === "") return "{}";
  return cut ? input : input + missingClosers(input);
}

/** True for the text of a complete JSON object or list. */
export function isCompleteJson(text: string): boolean {
  const last = text.trimEnd().at(-1);
  return (last === "}" || last === "]") && isJson(text);
}

/**
 * The closing brackets that would make a text valid JSON, where nothing else is missing: some servers lose the last ones.
 * A text that ends within a string stays as it is, for half a value may mean something else than the whole.
 */
export function missingClosers(text: string): string {
  if (isJson(text)) return "";
  const missing = openBrackets(text);
  if (missing === undefined || missing === "") return "";
  return isJson(text + missing) ? missing : "";
}

const TOKEN = /"(?:[^"\\]|\\.)*("?)|[{}[\]]/gs;

/** What closes the brackets that are open at the end; undefined where the text ends within a string. */
function openBrackets(text: string): string | undefined {
  const closers: string[] = [];
  for (const [token, quote] of text.matchAll(TOKEN)) {
    if (token.startsWith('"') && quote === "") return undefined;
    if (token === "{") closers.push("}");
    else if (token === "[") closers.push("]");
    else if (token === "}" || token === "]") closers.pop();
  }
  return closers.reverse().join("");
}

/**
 * True for a text that is whole JSON, such as the arguments of a call once their last fragment is there. Throws
 * `ResponseTooLarge` for one that holds more than can be read.
 */
export function isJson(text: string): boolean {
  try {
    parseCounted(text);
    return true;
  } catch (error) {
    if (!(error instanceof TooManyValues)) return false;
    throw new ResponseTooLarge(
      `The upstream sent a tool call whose arguments are too large to read. ${error.message}`,
    );
  }
}
