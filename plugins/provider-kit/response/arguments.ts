/** Checks and completes arguments of tool calls, which are texts that should contain JSON. */
import { parseCounted, stringifyExact, TooManyValues } from "../json/exact-json.ts";
import { ResponseTooLarge } from "../stream/response-too-large.ts";

/**
 * Returns the arguments of a whole call as text. Most formats have an object here, but some of their servers send a text.
 * `isCut` is true if the response ended at a limit or a filter, so that the text may be incomplete.
 */
export function completeArguments(input: unknown, isCut = false): string {
  if (typeof input !== "string") return stringifyExact(input ?? {});
  if (input.trim() === "") return "{}";
  return isCut ? input : input + missingClosers(input);
}

/** True for the text of a complete JSON object or list. */
export function isCompleteJson(text: string): boolean {
  const last = text.trimEnd().at(-1);
  return (last === "}" || last === "]") && isJson(text);
}

/**
 * Returns the closing brackets that make a text valid JSON, if nothing else is missing: some servers lose the last ones.
 * Returns an empty string if the text ends within a string, because half a value may have another meaning than the whole.
 */
export function missingClosers(text: string): string {
  if (isJson(text)) return "";
  const missing = closingBrackets(text);
  if (missing === undefined || missing === "") return "";
  return isJson(text + missing) ? missing : "";
}

const STRING_OR_BRACKET = /"(?:[^"\\]|\\.)*("?)|[{}[\]]/gs;

/** Returns the brackets that close those still open at the end; undefined if the text ends within a string. */
function closingBrackets(text: string): string | undefined {
  const closers: string[] = [];
  for (const [token, quote] of text.matchAll(STRING_OR_BRACKET)) {
    if (token.startsWith('"') && quote === "") return undefined;
    if (token === "{") closers.push("}");
    else if (token === "[") closers.push("]");
    else if (token === "}" || token === "]") closers.pop();
  }
  return closers.reverse().join("");
}

/**
 * True for a text that is complete JSON, such as the arguments of a call after their last fragment. Throws
 * `ResponseTooLarge` for a text with more values than the limit.
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
