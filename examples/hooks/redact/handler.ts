import type { HookHandler } from "portico";
import { redact } from "./patterns.ts";

/** The end of each stream's text that may still become something to redact. */
const held = new Map<string, string>();
/** A client that leaves never has its final piece: what it left behind goes when so many came after it. */
const MOST_STREAMS = 10_000;
/** A word longer than this is let go. */
const LONGEST = 4096;

const handler: HookHandler<"message:sending" | "message:streaming"> = (event) => {
  if (event.name === "message:sending") {
    event.context.content = redact(event.context.content);
    return;
  }
  const { streamId, text, final } = event.context;
  const all = (held.get(streamId) ?? "") + text;
  held.delete(streamId);
  const keep = final ? 0 : unfinished(all);
  if (keep > 0) held.set(streamId, all.slice(all.length - keep));
  for (const oldest of held.keys()) {
    if (held.size <= MOST_STREAMS) break;
    held.delete(oldest);
  }
  event.context.text = redact(all.slice(0, all.length - keep));
};

/** How many characters at the end may be the beginning of an address, a key, or a number that is written in groups. */
function unfinished(text: string): number {
  const word = text.length - startOfRun(text, /[\w.+@-]/);
  const groups = text.slice(startOfRun(text, /[\d ().+-]/)).trimStart();
  const length = Math.max(word, /\d/.test(groups) ? groups.length : 0);
  return length > LONGEST ? 0 : length;
}

/** Where the characters at the end begin that all fit `character`. */
function startOfRun(text: string, character: RegExp): number {
  const from = Math.max(0, text.length - LONGEST - 1);
  let at = text.length;
  while (at > from && character.test(text[at - 1]!)) at--;
  return at;
}

export default handler;
