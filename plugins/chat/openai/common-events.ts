/** The common events of a stream in OpenAI's form: one string of text, reasoning or arguments, and nothing else. */
import { type EventFrame, EventPattern, frameOf } from "../kit/stream/event-pattern.ts";
import type { Growing } from "../secrets/masked-stream.ts";
import { type Fields, isObject } from "./fields.ts";

/** Text, reasoning and arguments may alternate. */
const MOST_PATTERNS = 3;

export interface CommonEvent {
  /** Of the event that matched last. */
  readonly pattern: EventPattern;
  /** The string is text of the first choice. */
  readonly text: boolean;
  /** What stands around the string as it goes out, where that is not what came. */
  readonly renamed: EventFrame | undefined;
  /** What the string is a part of, to whoever looks for secrets in it. */
  growing: Growing | undefined;
}

export class CommonEvents {
  #list: CommonEvent[] = [];
  #learned: CommonEvent | undefined;

  /** The kind of event that starts here, where it differs from a good one only inside its one string. */
  match(bytes: Buffer, start: number): CommonEvent | undefined {
    for (const event of this.#list) if (event.pattern.match(bytes, start)) return event;
    return undefined;
  }

  /** The same right behind an event of this kind. */
  matchNext(bytes: Buffer, before: CommonEvent): CommonEvent | undefined {
    return before.pattern.matchNext(bytes) ? before : this.match(bytes, before.pattern.eventEnd);
  }

  /** What was learned since the last call. */
  takeLearned(): CommonEvent | undefined {
    const learned = this.#learned;
    this.#learned = undefined;
    return learned;
  }

  /**
   * Remembers the shape of a good event with one string in its delta, and nothing else that could matter. `written`: the
   * event as it goes out, where that differs.
   */
  learn(block: Buffer, choice: Fields, written?: Buffer): void {
    if (choice["finish_reason"] !== null || choice["logprobs"] != null) return;
    const delta = choice["delta"] as Fields;
    const field = onlyString(delta);
    const deltaAt = block.indexOf('"delta"');
    if (field === undefined || deltaAt === -1) return;
    const pattern = EventPattern.of(block, Buffer.from(`"${field}"`), "none", deltaAt);
    if (pattern === undefined) return;
    const renamed = written === undefined ? undefined : frameOf(written, Buffer.from(`"${field}"`));
    if (written !== undefined && renamed === undefined) return;
    const text = field === "content" && choice["index"] === 0;
    this.#learned = { pattern, text, renamed, growing: undefined };
    this.#list = [this.#learned, ...this.#list.slice(0, MOST_PATTERNS - 1)];
  }
}

/** The field whose string is all that a delta says; undefined where it says more, or something else. */
function onlyString(delta: Fields): string | undefined {
  const [key, ...others] = Object.keys(delta);
  if (key === undefined || others.length > 0) return undefined;
  if (key === "content" || key === "reasoning_content")
    return typeof delta[key] === "string" ? key : undefined;
  if (key !== "tool_calls") return undefined;
  const [call, ...more] = delta["tool_calls"] as Fields[];
  if (more.length > 0 || !isObject(call)) return undefined;
  if (Object.keys(call).some((name) => name !== "index" && name !== "function")) return undefined;
  const fn = call["function"];
  if (!isObject(fn) || Object.keys(fn).length !== 1 || typeof fn["arguments"] !== "string")
    return undefined;
  // Whether a call has arguments at all is counted where events are parsed.
  if (fn["arguments"].trim() === "") return undefined;
  return "arguments";
}
