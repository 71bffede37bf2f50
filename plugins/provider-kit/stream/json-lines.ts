/** Finds JSON in bodies that are not JSON as a whole, but have one object per line or event. */

/** The limits of the search: characters, and lines that fail to parse, each of which costs a thrown error. */
const MAX_CHARACTERS = 64 * 1024;
const MAX_INVALID_LINES = 100;

/** Returns the objects and lists in the first lines, or after `data:` in the first events. */
export function jsonLines(text: string): object[] {
  const values: object[] = [];
  let invalidLines = 0;
  for (const line of text.slice(0, MAX_CHARACTERS).split("\n")) {
    const json = line.replace(/^data:/, "").trimStart();
    if (json[0] !== "{" && json[0] !== "[") continue;
    const value = parseJsonObject(json);
    if (value !== undefined) values.push(value);
    else if (++invalidLines === MAX_INVALID_LINES) break;
  }
  return values;
}

/** Parses an object or list. Returns undefined for other JSON, and for a text that is not JSON. */
export function parseJsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
