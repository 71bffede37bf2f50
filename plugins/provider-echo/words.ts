/** A text as it is streamed. */

/** A long text continues in larger chunks, so that it does not delay other requests. */
const MAX_WORDS = 20_000;
const MAX_LENGTH = 16_384;

/** The text in words, each with the space before it. */
export function* wordsOf(text: string): Generator<string> {
  // Bounded, so that no word is read again for what is cut off it.
  const word = /\s{0,8192}\S{1,8192}|\s{1,8192}/y;
  let at = 0;
  for (let count = 0; at < text.length; count++) {
    word.lastIndex = at;
    const length = count < MAX_WORDS ? (word.exec(text)?.[0].length ?? 1) : MAX_LENGTH;
    const end = wholeCharacter(text, at + length);
    yield text.slice(at, end);
    at = end;
  }
}

/** Not between the two halves of a character. */
function wholeCharacter(text: string, end: number): number {
  const before = text.charCodeAt(end - 1);
  return before >= 0xd800 && before < 0xdc00 && end < text.length ? end + 1 : end;
}
