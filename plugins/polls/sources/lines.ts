/**
 * Processes texts line by line, without a list of all lines, because a text of five megabytes can have five million
 * lines.
 */
import { TimeSlices } from "../time-slices.ts";

/** The number of characters that are processed between two readings of the clock. */
const PIECE_CHARS = 16 * 1024;

/** Splits the text into pieces of whole lines, without the line break between two pieces. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf("\n", from + PIECE_CHARS);
    const to = end === -1 ? text.length : end;
    yield text.slice(from, to);
    from = to + 1;
  }
}

/**
 * Replaces each line by the result of `change`, or removes it if that is undefined; works in time slices. A line may end in
 * a carriage return.
 */
export async function changeLines(
  text: string,
  change: (line: string) => string | undefined,
): Promise<string> {
  const pieces = await TimeSlices.map(piecesOf(text), (piece) => {
    const lines = piece.split("\n").map(change);
    const rest = lines.filter((line) => line !== undefined);
    return rest.length > 0 ? rest.join("\n") : undefined;
  });
  return pieces.filter((piece) => piece !== undefined).join("\n");
}

export function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf("\n", from);
    const to = end === -1 ? text.length : end;
    yield text.slice(from, to);
    from = to + 1;
  }
}
