/**
 * A shortcut for streams of text, whose events nearly all differ only in their text. An event that differs only in its
 * text from one that was parsed before is not parsed: all its other parts are the same. Measured by `streams` in
 * `test/bench/chat/chat.bench.ts`: without it, a stream spends half of its time on parsing.
 */
import type { RawPart, StreamPart } from "../types/parts.ts";

/** An event that was parsed, without its text. */
interface EventTemplate {
  choice: number;
  /** Unknown members of the chunk. */
  members: Record<string, unknown> | undefined;
  /** The JSON before the text, and the JSON after it. */
  before: string;
  after: string;
}

/** Longer events are rare, so they are always parsed. */
const MAX_LENGTH = 16 * 1024;
/** A text that JSON writes without escapes. */
const UNESCAPED = /^[^"\\\x00-\x1f]*$/;
const CONTENT_KEY = '"content":"';

export class RepeatedEvent {
  #template: EventTemplate | undefined;

  /** Remembers an event that needed no repair. */
  learn(json: string, parts: readonly StreamPart[]): void {
    if (json.length > MAX_LENGTH) return;
    const [part, ...others] = parts.filter((candidate) => !isChunkMembers(candidate));
    if (part?.type !== "text" || others.length > 0 || part.logprobs != null) return;
    if (part.text === "" || !UNESCAPED.test(part.text)) return;
    const at = json.indexOf(CONTENT_KEY);
    const from = at + CONTENT_KEY.length;
    const isOnly = at !== -1 && json.indexOf(CONTENT_KEY, from) === -1;
    if (!isOnly || !json.startsWith(`${part.text}"`, from)) return;
    const members = parts.find(isChunkMembers)?.members;
    const after = json.slice(from + part.text.length);
    this.#template = { choice: part.choice, members, before: json.slice(0, from), after };
  }

  /** Returns the content of the event if it differs only in its text from the one that was remembered. */
  read(
    json: string,
  ): { choice: number; members: EventTemplate["members"]; text: string } | undefined {
    const template = this.#template;
    if (
      template === undefined ||
      !json.endsWith(template.after) ||
      !json.startsWith(template.before)
    )
      return undefined;
    const text = json.slice(template.before.length, json.length - template.after.length);
    if (text === "" || !UNESCAPED.test(text)) return undefined;
    return { choice: template.choice, members: template.members, text };
  }
}

function isChunkMembers(part: StreamPart): part is RawPart {
  return part.type === "raw" && part.at === "chunk";
}
