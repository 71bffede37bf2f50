import type { HookHandler } from "portico";
import { redact } from "./patterns.ts";

/** The end of each stream's text that may be the beginning of a text to redact. */
const pendingEnds = new Map<string, string>();
/**
 * The maximum number of stored ends. A stream whose client disconnects has no final piece, so the oldest ends are dropped.
 */
const MAX_STREAMS = 10_000;
/** The maximum length of a withheld text. A longer word is sent at once. */
const MAX_WITHHELD = 4096;

const handler: HookHandler<"message:sending" | "message:streaming"> = (event) => {
  if (event.name === "message:sending") {
    event.context.content = redact(event.context.content);
    return;
  }
  const { streamId, text, final } = event.context;
  const all = (pendingEnds.get(streamId) ?? "") + text;
  pendingEnds.delete(streamId);
  const withheldLength = final ? 0 : unfinishedLength(all);
  if (withheldLength > 0) pendingEnds.set(streamId, all.slice(all.length - withheldLength));
  for (const oldest of pendingEnds.keys()) {
    if (pendingEnds.size <= MAX_STREAMS) break;
    pendingEnds.delete(oldest);
  }
  event.context.text = redact(all.slice(0, all.length - withheldLength));
};

/** Returns the number of characters at the end that may be the beginning of an address, a key, or a number in groups. */
function unfinishedLength(text: string): number {
  const word = text.length - startOfRun(text, /[\w.+@-]/);
  const groups = text.slice(startOfRun(text, /[\d ().+-]/)).trimStart();
  const length = Math.max(word, /\d/.test(groups) ? groups.length : 0);
  return length > MAX_WITHHELD ? 0 : length;
}

/** Returns the start of the run of characters at the end that match `character`. */
function startOfRun(text: string, character: RegExp): number {
  const from = Math.max(0, text.length - MAX_WITHHELD - 1);
  let at = text.length;
  while (at > from && character.test(text[at - 1]!)) at--;
  return at;
}

export default handler;
