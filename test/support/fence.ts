/** Results of tools as tests of single tools look at them. */

/** A text without the marks around what came from outside. */
export function unfenced(text: string): string {
  return text.replace(
    /<<<UNTRUSTED [^\n]* id=(\w+)>>>\n\([^\n]*\)\n([\s\S]*?)\n<<<END UNTRUSTED id=\1>>>/g,
    (_fence, _id, inside: string) => inside,
  );
}
