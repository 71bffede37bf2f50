/** Page text in a snapshot: it stays on its line, within its quotes, and cannot look like a ref. */

// Square brackets are how a snapshot marks refs and states; page text gets round ones where it imitates that.
const IMITATION = /\[( ?@? ?(?:ref|native) ?= ?[^\]\n]{0,40})\]?/gi;

/** Takes the sting out of page text: no line breaks, no control characters, nothing of the form `[ref=…]`. */
export function sanitizeText(text: string): string {
  if (!/[\n\r\t[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)) return text;
  return text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").replace(IMITATION, "($1)");
}

/** An accessible name as a snapshot shows it. */
export const quoteName = (name: string): string =>
  `"${sanitizeText(name).replace(/[\\"]/g, "\\$&")}"`;
