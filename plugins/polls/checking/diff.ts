const MAX_LINES = 2_000;
const MAX_CHARS = 8_000;

/** Lines that went (`- `) and came (`+ `), in order; clipped to 8,000 characters. */
export function lineDiff(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [was, is] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const lines = was.length > MAX_LINES || is.length > MAX_LINES ? coarse(was, is) : exact(was, is);
  const text = lines.join("\n");
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}\n… (${text.length - MAX_CHARS} more characters)` : text;
}

/** Longest common subsequence. */
function exact(a: readonly string[], b: readonly string[]): string[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push(`- ${a[i++]}`);
    } else lines.push(`+ ${b[j++]}`);
  }
  return lines;
}

/** For large texts: lines that only one side has. */
function coarse(a: readonly string[], b: readonly string[]): string[] {
  const [had, has] = [new Set(a), new Set(b)];
  return [
    ...a.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...b.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
}
