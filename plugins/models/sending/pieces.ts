/** Spreads a text that a handler changed as a whole over the pieces that it was received in. */

/**
 * The pieces of the changed text: those before and behind the change stay as they are, so that whatever belongs to them
 * stays too. The first piece that the change touches takes all of it, and the other ones are empty.
 */
export function changedPieces(pieces: readonly string[], changed: string): string[] {
  const text = pieces.join("");
  const before = commonStart(text, changed);
  const behind = commonEnd(text.slice(before), changed.slice(before));
  const first = pieceAt(pieces, before);
  const last = Math.max(first, pieceAt(pieces, text.length - behind - 1));
  const start = lengthOf(pieces.slice(0, first));
  const end = lengthOf(pieces.slice(last + 1));
  return pieces.map((piece, i) => {
    if (i < first || i > last) return piece;
    return i === first ? changed.slice(start, changed.length - end) : "";
  });
}

/** The piece in which a character stands; the last one for what stands behind all of them. */
function pieceAt(pieces: readonly string[], position: number): number {
  let end = 0;
  for (const [i, piece] of pieces.entries()) {
    end += piece.length;
    if (position < end) return i;
  }
  return pieces.length - 1;
}

function lengthOf(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function commonStart(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

function commonEnd(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}
