/** Texts as they stand in JSON, escaped and without their quotes: so they are taken out of events and put together. */

export function literalOf(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Throws where what was taken unread is no JSON. */
export function textOf(literal: string): string {
  return literal.includes("\\") ? (JSON.parse(`"${literal}"`) as string) : literal;
}

/** The same, for reports: nothing where it is no JSON. */
export function textIfAny(literal: string): string {
  try {
    return textOf(literal);
  } catch {
    return "";
  }
}
