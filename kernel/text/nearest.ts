/**
 * The candidate that was probably meant by a mistyped word, or undefined where none is near enough.
 * Case is ignored; about one slip in three letters is forgiven, and a candidate that the word begins counts as near.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  if (typed === "") return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  let prefix: string | undefined;
  for (const candidate of candidates) {
    const known = candidate.toLowerCase();
    if (Math.abs(known.length - typed.length) < bestDistance) {
      const found = distance(typed, known);
      if (found < bestDistance) {
        best = candidate;
        bestDistance = found;
      }
    }
    if (prefix === undefined && typed.length >= 3 && known.startsWith(typed)) prefix = candidate;
  }
  return best ?? prefix;
}

// Edits between two words, where two neighbours that changed places count as one (optimal string alignment).
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
