/** The text as the value of a header: its UTF-8, a character for each byte, for a header takes no others. */
export function headerValue(text: string): string {
  return Buffer.from(text).toString("latin1");
}
