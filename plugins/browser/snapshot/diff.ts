/** Compares two snapshots of the same view line by line. */

/**
 * The maximum number of differing lines per side for a detailed comparison. Above it, the middle is reported as
 * replaced, since a comparison would cost too much.
 */
const MAX_COMPARED_LINES = 1_500;

/** Returns the longest common subsequence of two lists of lines as pairs of indexes. */
function findCommonLines(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}

interface SnapshotDiff {
  /** The changes `+ line` and `- line` in the order of the page; empty if nothing changed. */
  lines: string[];
  added: number;
  removed: number;
}

export function diffLines(oldLines: readonly string[], newLines: readonly string[]): SnapshotDiff {
  let start = 0;
  while (start < oldLines.length && start < newLines.length && oldLines[start] === newLines[start])
    start++;
  let end = 0;
  while (
    end < oldLines.length - start &&
    end < newLines.length - start &&
    oldLines[oldLines.length - 1 - end] === newLines[newLines.length - 1 - end]
  )
    end++;
  const a = oldLines.slice(start, oldLines.length - end);
  const b = newLines.slice(start, newLines.length - end);
  const pairs =
    a.length <= MAX_COMPARED_LINES && b.length <= MAX_COMPARED_LINES ? findCommonLines(a, b) : [];
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  let keptLines = 0;
  for (const [x, y] of [...pairs, [a.length, b.length] as [number, number]]) {
    for (; i < x; i++) lines.push(`- ${a[i]}`);
    for (; j < y; j++) lines.push(`+ ${b[j]}`);
    if (x < a.length) keptLines++;
    i = x + 1;
    j = y + 1;
  }
  return { lines, added: b.length - keptLines, removed: a.length - keptLines };
}
