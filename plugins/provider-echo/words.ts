/** Splits a text for a stream. */

/** After this number of words, a text is split into larger chunks, so that it does not delay other requests. */
const MAX_WORDS = 20_000;
const MAX_LENGTH = 16_384;

/** Yields the words of a text, each with the white space before it. */
export function* wordsOf(text: string): Generator<string> {
  // The bounds limit the length of a word, and backtracking on long runs.
  const word = /\s{0,8192}\S{1,8192}|\s{1,8192}/y;
  let at = 0;
  for (let count = 0; at < text.length; count++) {
    word.lastIndex = at;
    const length = count < MAX_WORDS ? (word.exec(text)?.[0].length ?? 1) : MAX_LENGTH;
    const end = endOfCharacter(text, at + length);
    yield text.slice(at, end);
    at = end;
  }
}

/** Moves an end that would split a surrogate pair behind the pair. */
function endOfCharacter(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 && end < text.length ? end + 1 : end;
}
