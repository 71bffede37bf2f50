/** JSON in bodies that are no JSON as a whole: one object a line, or one an event. */

/** The search ends after so many characters, and so many lines without JSON, because each costs a thrown error. */
const MOST_CHARACTERS = 64 * 1024;
const MOST_BROKEN = 100;

/** The objects and lists among the first lines, or behind `data:` of the first events. */
export function jsonLines(text: string): object[] {
  const found: object[] = [];
  let broken = 0;
  for (const line of text.slice(0, MOST_CHARACTERS).split("\n")) {
    const json = line.replace(/^data:/, "").trimStart();
    if (json[0] !== "{" && json[0] !== "[") continue;
    const value = parseJsonObject(json);
    if (value !== undefined) found.push(value);
    else if (++broken === MOST_BROKEN) break;
  }
  return found;
}

/** Undefined for a text that is no JSON, and for JSON that is no object or list. */
export function parseJsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
