/** Helpers for tests that read the results of single tools. */

/** Removes the marks around untrusted content. */
export function removeFences(text: string): string {
  return text.replace(
    /<<<UNTRUSTED [^\n]* id=(\w+)>>>\n\([^\n]*\)\n([\s\S]*?)\n<<<END UNTRUSTED id=\1>>>/g,
    (_fence, _id, inside: string) => inside,
  );
}
