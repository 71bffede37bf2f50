/** Texts line by line, without a list of all lines: a text of five megabytes can have as many of them. */
import { TimeSlices } from "../time-slices.ts";

/** What is read between two looks at the clock. */
const PIECE_CHARS = 16 * 1024;

/** The text in pieces of whole lines, without the line break between two pieces. */
function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf("\n", from + PIECE_CHARS);
    const to = end === -1 ? text.length : end;
    yield text.slice(from, to);
    from = to + 1;
  }
}

/**
 * The text with each of its lines changed, or left out where `change` returns undefined; in slices of time. A line may
 * end in a carriage return.
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
