/** `message:sending` for a stream that was held until it was whole. */
import type { StreamPart } from "portico/provider";
import type { TextName } from "./chat-texts.ts";
import { changedPieces } from "./pieces.ts";
import { isSpoken, nameOfSpoken, type Spoken, spokenText, withSpokenText } from "./spoken-parts.ts";

/** The pieces of one text of one choice. */
interface HeldText {
  name: TextName;
  pieces: Spoken[];
}

/** Parts and what goes out in their place; undefined for nothing. */
type Replacements = Map<StreamPart, StreamPart | undefined>;

/** The parts with each text as `offer` leaves it. Parts that say nothing, or whose text stays, are the very same. */
export async function offerParts(
  parts: readonly StreamPart[],
  offer: (text: string) => Promise<string>,
): Promise<readonly StreamPart[]> {
  const replacements: Replacements = new Map();
  for (const held of textsOf(parts)) {
    const text = held.pieces.map(spokenText).join("");
    const offered = text === "" ? text : await offer(text);
    if (offered !== text) replace(held, offered, replacements);
  }
  return parts.flatMap((part) => {
    if (!replacements.has(part)) return [part];
    const other = replacements.get(part);
    return other === undefined ? [] : [other];
  });
}

function replace({ name, pieces }: HeldText, text: string, replacements: Replacements): void {
  if (name === "transcript") {
    // The sound says all of the words: none of its pieces may stay.
    for (const piece of pieces) replacements.set(piece, undefined);
    replacements.set(pieces[0]!, withSpokenText(pieces[0]!, text, pieces));
    return;
  }
  const changed = changedPieces(pieces.map(spokenText), text);
  for (const [i, piece] of pieces.entries()) {
    const own = changed[i]!;
    if (own === spokenText(piece)) continue;
    replacements.set(piece, own === "" ? undefined : withSpokenText(piece, own, [piece]));
  }
}

function textsOf(parts: readonly StreamPart[]): Iterable<HeldText> {
  const texts = new Map<string, HeldText>();
  for (const part of parts) {
    // Sound without words belongs to the words that came before it.
    if (part.type !== "audio" && !isSpoken(part)) continue;
    const name = nameOfSpoken(part);
    const key = `${part.choice}.${name}`;
    const text = texts.get(key);
    if (text === undefined) texts.set(key, { name, pieces: [part] });
    else text.pieces.push(part);
  }
  return texts.values();
}
