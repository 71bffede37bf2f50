import distance from "damerau-levenshtein"; // two swapped neighbours count as one edit

/**
 * Finds the candidate that was probably meant by a mistyped word, or undefined if none is near enough. Ignores case;
 * tolerates about one mistake in three letters, and a candidate that begins with the word counts as near.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  if (typed === "") return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  let prefix: string | undefined;
  for (const candidate of candidates) {
    const name = candidate.toLowerCase();
    const isFar = Math.abs(name.length - typed.length) >= bestDistance;
    const nameDistance = isFar ? bestDistance : distance(typed, name).steps;
    if (nameDistance < bestDistance) [best, bestDistance] = [candidate, nameDistance];
    if (prefix === undefined && typed.length >= 3 && name.startsWith(typed)) prefix = candidate;
  }
  return best ?? prefix;
}
