/** Returns the beginning of a long text for a model, with the number of omitted characters. */
export function clip(text: string, maxLength: number): string {
  return text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)}\n[… ${text.length - maxLength} more characters left out]`;
}

/** Shortens a text for a table to at most `maxLength` characters. The last one is `…` if the text is longer. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}
