/** Sanitizes page text in a snapshot, so that it stays on its line and within its quotes, and cannot imitate a ref. */

// A snapshot marks refs and states with square brackets; page text that imitates them gets round ones.
const REF_IMITATION = /\[( ?@? ?(?:ref|native) ?= ?[^\]\n]{0,40})\]?/gi;

/**
 * Makes page text harmless: removes line breaks and control characters, and rewrites anything of the form `[ref=…]`.
 */
export function sanitizeText(text: string): string {
  if (!/[\n\r\t[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)) return text;
  return text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ").replace(REF_IMITATION, "($1)");
}

/** Quotes an accessible name for a snapshot. */
export const quoteName = (name: string): string =>
  `"${sanitizeText(name).replace(/[\\"]/g, "\\$&")}"`;
