/** For a model: the beginning of a long text, saying how many characters were left out. */
export function clip(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${text.slice(0, most)}\n[… ${text.length - most} more characters left out]`;
}

/** For a table: a text of at most `most` characters, the last of them `…` where it is longer. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
