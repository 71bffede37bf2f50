/** Tells the common events of a stream by comparing bytes with one that was read before. */
import { type Fields, isObject } from "./fields.ts";

const LF = 10;
const COLON = 58;
const BACKSLASH = 92;
const QUOTE = 34;
/** So far the end of a common event is looked for byte by byte. */
const NEAR_BYTES = 512;
/** Text, reasoning and arguments may alternate. */
const MOST_TEMPLATES = 3;

/** An event whose only varying part is one JSON string: the bytes before it and after it. */
export interface Template {
  readonly prefix: Buffer;
  readonly suffix: Buffer;
  /** The string is text of the first choice. */
  readonly text: boolean;
}

/** The string of a common event, and where the event ends. */
export interface Common {
  template: Template;
  literalStart: number;
  literalEnd: number;
  end: number;
}

export class Templates {
  #list: Template[] = [];
  // The same object for every event: nobody keeps it, and this runs once for every event of every stream.
  readonly #found: Common = { template: undefined as never, literalStart: 0, literalEnd: 0, end: 0 };

  /** Whether the event that starts here differs from a good one only inside its one string. */
  match(bytes: Buffer, start: number): Common | undefined {
    // Plain loops: for so few bytes each step into native code costs more than it saves.
    const { length } = bytes;
    for (const template of this.#list) {
      const { prefix, suffix } = template;
      const from = start + prefix.length;
      if (from + suffix.length > length) continue;
      // From behind: the fields that vary stand at the end of the prefix.
      let i = prefix.length - 1;
      while (i >= 0 && bytes[start + i] === prefix[i]) i--;
      if (i >= 0) continue;
      const end = lineEnd(bytes, from) + 2;
      const literalEnd = end - suffix.length;
      if (end === 1 || end > length || literalEnd < from) continue;
      let j = suffix.length - 1;
      while (j >= 0 && bytes[literalEnd + j] === suffix[j]) j--;
      if (j >= 0) continue;
      const found = this.#found;
      found.template = template;
      found.literalStart = from;
      found.literalEnd = literalEnd;
      found.end = end;
      return found;
    }
    return undefined;
  }

  /** Remembers the shape of a good event with one string in its delta, and nothing else that could matter. */
  learn(block: Buffer, choice: Fields): void {
    if (choice["finish_reason"] !== null) return;
    const delta = choice["delta"] as Fields;
    const keys = Object.keys(delta);
    const key = keys[0];
    if (keys.length !== 1 || key === undefined) return;
    let field = key;
    if (key === "tool_calls") {
      const calls = delta["tool_calls"] as Fields[];
      const call = calls[0];
      if (
        calls.length !== 1 ||
        !isObject(call) ||
        Object.keys(call).some((name) => name !== "index" && name !== "function")
      )
        return;
      const fn = call["function"];
      if (!isObject(fn) || Object.keys(fn).length !== 1 || typeof fn["arguments"] !== "string") return;
      field = "arguments";
    } else if ((key !== "content" && key !== "reasoning_content") || typeof delta[key] !== "string") return;
    const deltaAt = block.indexOf('"delta"');
    let at = block.indexOf(`"${field}"`, deltaAt);
    if (deltaAt === -1 || at === -1) return;
    at += field.length + 2;
    while (block[at] === COLON || block[at] === 32) at++;
    if (block[at] !== QUOTE) return;
    const open = at + 1;
    let close = open;
    while (close < block.length && block[close] !== QUOTE) close += block[close] === BACKSLASH ? 2 : 1;
    if (close >= block.length) return;
    const template = {
      prefix: Buffer.from(block.subarray(0, open)),
      suffix: Buffer.from(block.subarray(close)),
      text: field === "content" && choice["index"] === 0,
    };
    this.#list = [template, ...this.#list.slice(0, MOST_TEMPLATES - 1)];
  }
}

/** The next LF, or -1. */
function lineEnd(bytes: Buffer, from: number): number {
  const near = Math.min(bytes.length, from + NEAR_BYTES);
  for (let at = from; at < near; at++) if (bytes[at] === LF) return at;
  return near === bytes.length ? -1 : bytes.indexOf(LF, near);
}
