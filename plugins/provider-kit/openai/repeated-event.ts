/**
 * The shortcut through a stream of text: nearly all of its events differ in their text alone. One that is like an event
 * that was parsed before is not parsed again; its parts are the same but for the text. Measured by `streams` in
 * `test/bench/chat/chat.bench.ts`: without it, half of a stream's time goes into parsing.
 */
import type { RawPart, StreamPart } from "../types/parts.ts";

/** The content of an event that differs from others in its text alone. */
interface Likeness {
  choice: number;
  /** Unknown members of the chunk. */
  members: Record<string, unknown> | undefined;
  before: string;
  after: string;
}

/** Longer events are rare: they are parsed one by one. */
const LONGEST = 16 * 1024;
/** A text that JSON writes without escapes. */
const PLAIN = /^[^"\\\x00-\x1f]*$/;
const BEGIN = '"content":"';

export class RepeatedEvent {
  #like: Likeness | undefined;

  /** Remembers an event that needed no repair. */
  learn(json: string, parts: readonly StreamPart[]): void {
    if (json.length > LONGEST) return;
    const [said, ...others] = parts.filter((part) => !isChunkMembers(part));
    if (said?.type !== "text" || others.length > 0 || said.logprobs != null) return;
    if (said.text === "" || !PLAIN.test(said.text)) return;
    const at = json.indexOf(BEGIN);
    const from = at + BEGIN.length;
    const isOnly = at !== -1 && json.indexOf(BEGIN, from) === -1;
    if (!isOnly || !json.startsWith(`${said.text}"`, from)) return;
    const members = parts.find(isChunkMembers)?.members;
    const after = json.slice(from + said.text.length);
    this.#like = { choice: said.choice, members, before: json.slice(0, from), after };
  }

  /** Returns the content of the event, where it is like the one that was learned. */
  read(json: string): { choice: number; members: Likeness["members"]; text: string } | undefined {
    const like = this.#like;
    if (like === undefined || !json.endsWith(like.after) || !json.startsWith(like.before))
      return undefined;
    const text = json.slice(like.before.length, json.length - like.after.length);
    if (text === "" || !PLAIN.test(text)) return undefined;
    return { choice: like.choice, members: like.members, text };
  }
}

function isChunkMembers(part: StreamPart): part is RawPart {
  return part.type === "raw" && part.at === "chunk";
}
