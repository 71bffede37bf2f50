import distance from "damerau-levenshtein"; // neighbours that changed places count as one edit

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
    const isFar = Math.abs(known.length - typed.length) >= bestDistance;
    const distanceToKnown = isFar ? bestDistance : distance(typed, known).steps;
    if (distanceToKnown < bestDistance) [best, bestDistance] = [candidate, distanceToKnown];
    if (prefix === undefined && typed.length >= 3 && known.startsWith(typed)) prefix = candidate;
  }
  return best ?? prefix;
}
