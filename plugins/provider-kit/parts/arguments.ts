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
  const closers: string[] = [];
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === "\\" && inString) i++;
    else if (char === '"') inString = !inString;
    else if (inString) continue;
    else if (char === "{") closers.push("}");
    else if (char === "[") closers.push("]");
    else if (char === "}" || char === "]") closers.pop();
  }
  if (inString || closers.length === 0) return "";
  const missing = closers.reverse().join("");
  return isJsonText(text + missing) ? missing : "";
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
