/** Distributes a text that a handler changed as a whole to the pieces in which it was received. */

/**
 * Returns the pieces of the changed text. Pieces before and after the change stay unchanged, and so does whatever
 * belongs to them. The first piece that the change touches gets all of it, and the other ones become empty.
 */
export function changedPieces(pieces: readonly string[], changed: string): string[] {
  const text = pieces.join("");
  const startLength = commonStart(text, changed);
  const endLength = commonEnd(text.slice(startLength), changed.slice(startLength));
  const first = pieceIndexAt(pieces, startLength);
  const last = Math.max(first, pieceIndexAt(pieces, text.length - endLength - 1));
  const start = totalLength(pieces.slice(0, first));
  const end = totalLength(pieces.slice(last + 1));
  return pieces.map((piece, i) => {
    if (i < first || i > last) return piece;
    return i === first ? changed.slice(start, changed.length - end) : "";
  });
}

/** Returns the index of the piece that contains a position; the last one for a position after all pieces. */
function pieceIndexAt(pieces: readonly string[], position: number): number {
  let end = 0;
  for (const [i, piece] of pieces.entries()) {
    end += piece.length;
    if (position < end) return i;
  }
  return pieces.length - 1;
}

function totalLength(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function commonStart(a: string, b: string): number {
  const maxLength = Math.min(a.length, b.length);
  let length = 0;
  while (length < maxLength && a[length] === b[length]) length++;
  return length;
}

function commonEnd(a: string, b: string): number {
  const maxLength = Math.min(a.length, b.length);
  let length = 0;
  while (length < maxLength && a.at(-1 - length) === b.at(-1 - length)) length++;
  return length;
}
