/** `message:sending` for a stream that was held until it was complete. */
import type { StreamPart } from "portico/provider";
import type { TextName } from "./chat-texts.ts";
import { changedPieces } from "./pieces.ts";
import {
  isVisible,
  textNameOf,
  type VisiblePart,
  visibleText,
  withVisibleText,
} from "./visible-parts.ts";

/** The pieces of one text of one choice. */
interface HeldText {
  name: TextName;
  pieces: VisiblePart[];
}

/** The parts to replace, each with its replacement; undefined removes it. */
type Replacements = Map<StreamPart, StreamPart | undefined>;

/** Returns the parts with each text that `offer` changes. Other parts are the same objects. */
export async function offerParts(
  parts: readonly StreamPart[],
  offer: (text: string) => Promise<string>,
): Promise<readonly StreamPart[]> {
  const replacements: Replacements = new Map();
  for (const heldText of textsOf(parts)) {
    const text = heldText.pieces.map(visibleText).join("");
    const offered = text === "" ? text : await offer(text);
    if (offered !== text) replace(heldText, offered, replacements);
  }
  return parts.flatMap((part) => {
    if (!replacements.has(part)) return [part];
    const replacement = replacements.get(part);
    return replacement === undefined ? [] : [replacement];
  });
}

function replace({ name, pieces }: HeldText, text: string, replacements: Replacements): void {
  if (name === "transcript") {
    // The audio data speaks all the words, so none of its pieces may stay.
    for (const piece of pieces) replacements.set(piece, undefined);
    replacements.set(pieces[0]!, withVisibleText(pieces[0]!, text, pieces));
    return;
  }
  const changed = changedPieces(pieces.map(visibleText), text);
  for (const [i, piece] of pieces.entries()) {
    const newText = changed[i]!;
    if (newText === visibleText(piece)) continue;
    replacements.set(piece, newText === "" ? undefined : withVisibleText(piece, newText, [piece]));
  }
}

function textsOf(parts: readonly StreamPart[]): Iterable<HeldText> {
  const texts = new Map<string, HeldText>();
  for (const part of parts) {
    // Audio data without a transcript belongs to the words before it.
    if (part.type !== "audio" && !isVisible(part)) continue;
    const name = textNameOf(part);
    const key = `${part.choice}.${name}`;
    const text = texts.get(key);
    if (text === undefined) texts.set(key, { name, pieces: [part] });
    else text.pieces.push(part);
  }
  return texts.values();
}
