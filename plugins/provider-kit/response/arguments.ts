/** Arguments of tool calls: texts that are to hold JSON. */
import { stringifyExact } from "../json/exact-json.ts";

/**
 * The arguments of a whole call as text. Most formats have an object, some servers of theirs a text of their own. `cut`: the
 * response ended at a limit or a filter, so that the text may be incomplete.
 */
export function completeArguments(input: unknown, cut = false): string {
  if (typeof input !== "string") return stringifyExact(input ?? {});
  if (input.trim() === "") return "{}";
  return cut ? input : input + missingClosers(input);
}

/** True for the text of a JSON object or list that has come to its end. */
export function isCompleteJson(text: string): boolean {
  const last = text.trimEnd().at(-1);
  return (last === "}" || last === "]") && isJsonText(text);
}

/**
 * The closing brackets that would make a text valid JSON, where nothing else is missing: some servers lose the last ones.
 * A text that ends within a string stays as it is, for half a value may mean something else than the whole.
 */
export function missingClosers(text: string): string {
  if (isJsonText(text)) return "";
  const missing = openBrackets(text);
  if (missing === undefined || missing === "") return "";
  return isJsonText(text + missing) ? missing : "";
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

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
