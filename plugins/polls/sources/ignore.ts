import { PorticoError } from "portico";

/** The patterns of `source.ignore`; throws 400 for one that is none. */
export function compileIgnored(patterns: readonly string[] = []): RegExp[] {
  return patterns.map((pattern, i) => {
    try {
      return new RegExp(pattern, "u");
    } catch (cause) {
      const message = `${JSON.stringify(pattern)} is not a regular expression.`;
      throw new PorticoError("invalid_request_error", message, { param: `source.ignore[${i}]`, cause });
    }
  });
}

/** Text without the lines that match one of the patterns, and without space at line ends. */
export function withoutIgnored(text: string, patterns: readonly string[] | undefined): string {
  const ignored = compileIgnored(patterns);
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  return lines.filter((line) => !ignored.some((pattern) => pattern.test(line))).join("\n");
}
