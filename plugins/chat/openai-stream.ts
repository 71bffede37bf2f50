/**
 * A stream in OpenAI's form, passed through. Events of the common shape are told by comparing bytes with one that was
 * read before, and leave as they came; everything else is parsed, mended where servers of that format go wrong, and
 * written anew only if that changed it.
 */
import { createSseParser, type PorticoError, type SseParser, type UpstreamError, upstreamError } from "portico";
import {
  type AnswerDefaults,
  errorIn,
  finishReason,
  mendArguments,
  mendText,
  mendUsage,
  newCallId,
} from "./openai-answer.ts";
import type { StreamDecoder, Usage } from "portico";

type Fields = Record<string, unknown>;

const LF = 10;
const CR = 13;
const COLON = 58;
const BACKSLASH = 92;
const QUOTE = 34;
const DATA = Buffer.from("data: ");
const DONE = Buffer.from("data: [DONE]\n\n");
const NOTHING = Buffer.alloc(0);
/** So far the end of a common event is looked for byte by byte. */
const NEAR_BYTES = 512;
/** Longer single events are refused: they would have to be held in memory whole. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

export interface OpenAiStreamOptions extends AnswerDefaults {
  /** The client asked for the usage chunk. */
  includeUsage: boolean;
  /** Keep the text, for events that tell of it. */
  capture?: boolean;
}

/** An event whose only varying part is one JSON string: the bytes before it and after it. */
interface Template {
  prefix: Buffer;
  suffix: Buffer;
  text: boolean;
}

interface ChoiceState {
  role: boolean;
  finished: boolean;
  /** Our index of each call, by the upstream's id and by its index. */
  callsById: Map<string, number>;
  callsByIndex: Map<number, number>;
  calls: number;
}

export class OpenAiStream implements StreamDecoder {
  usage?: Usage;
  finishReason?: string;
  failure?: PorticoError;
  /** `[DONE]` was written. */
  done = false;

  readonly #options: OpenAiStreamOptions;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Set once the stream turned out not to end its lines with LF alone. */
  #parser: SseParser | undefined;
  #parsed: Buffer[] = [];
  #templates: Template[] = [];
  #choices = new Map<number, ChoiceState>();
  #id: string | undefined;
  #created = 0;
  #model = "";
  #usageSent = false;
  #literal = "";

  constructor(options: OpenAiStreamOptions) {
    this.#options = options;
  }

  /** The text of the first choice so far, where `capture` was set. */
  get text(): string {
    try {
      return JSON.parse(`"${this.#literal}"`) as string;
    } catch {
      return "";
    }
  }

  push(bytes: Buffer): Buffer | undefined {
    if (this.done || bytes.length === 0) return undefined;
    if (this.#parser !== undefined) return this.#pushParsed(bytes);
    const pieces: Buffer[] = [];
    let from = 0;
    if (this.#held.length > 0) {
      const last = this.#held[this.#held.length - 1]!;
      from = last[last.length - 1] === LF && bytes[0] === LF ? 1 : blockEnd(bytes, 0);
      if (from === -1) return this.#hold(bytes);
      const block = Buffer.concat([...this.#held, bytes.subarray(0, from)], this.#heldBytes + from);
      this.#held = [];
      this.#heldBytes = 0;
      if (!this.#blocks(block, 0, pieces)) return join(pieces);
    }
    this.#blocks(bytes, from, pieces);
    return join(pieces);
  }

  end(): Buffer | undefined {
    const pieces: Buffer[] = [];
    if (this.#held.length > 0) {
      const rest = Buffer.concat(this.#held);
      this.#held = [];
      this.#parser ??= this.#startParser();
      const bytes = this.#pushParsed(rest);
      if (bytes !== undefined) pieces.push(bytes);
    }
    if (this.#parser !== undefined && !this.done && this.failure === undefined) {
      this.#parsed = [];
      try {
        this.#parser.end();
      } catch (error) {
        this.#fail(error, pieces.length > 0 || this.#parsed.length > 0);
      }
      pieces.push(...this.#parsed);
    }
    if (!this.done && this.failure === undefined) {
      if (this.#id === undefined)
        throw upstreamError({ kind: "upstream", message: "The upstream's stream ended before anything came." }, 200);
      pieces.push(this.#closing(), DONE);
      this.done = true;
    }
    return join(pieces);
  }

  /** Keeps the bytes of an event that is not complete; a CR among them changes the way of reading for good. */
  #hold(bytes: Buffer): Buffer | undefined {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > MAX_EVENT_BYTES) {
      throw upstreamError(
        { kind: "upstream", message: `The upstream sent one event of more than ${MAX_EVENT_BYTES >> 20} MiB.` },
        200,
      );
    }
    if (bytes.indexOf(CR) === -1) return undefined;
    const all = this.#held.length === 1 ? bytes : Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    this.#parser = this.#startParser();
    return this.#pushParsed(all);
  }

  #startParser(): SseParser {
    return createSseParser(
      (data, event) => {
        if (this.done) return;
        const out = this.#event(data, event, false);
        if (out !== undefined && out.length > 0) this.#parsed.push(out);
      },
      (comment) => this.#parsed.push(Buffer.concat([Buffer.from(":"), comment, Buffer.from("\n\n")])),
    );
  }

  #pushParsed(bytes: Buffer): Buffer | undefined {
    this.#parsed = [];
    try {
      this.#parser!.push(bytes);
    } catch (error) {
      this.#fail(error, this.#parsed.length > 0);
    }
    return join(this.#parsed);
  }

  /** What came before the error in the same read is still handed on; the error then waits in `failure`. */
  #fail(error: unknown, afterOutput: boolean): void {
    if (!afterOutput) throw error;
    this.failure = error as UpstreamError;
  }

  /** Goes through the events of a read; the incomplete last one is held. False where the stream is over. */
  #blocks(bytes: Buffer, start: number, pieces: Buffer[]): boolean {
    let at = start;
    let passFrom = start;
    while (at < bytes.length) {
      let end = this.#commonEnd(bytes, at);
      if (end === -1) {
        end = blockEnd(bytes, at);
        if (end === -1) break;
        let out: Buffer | undefined;
        try {
          out = this.#block(bytes, at, end);
        } catch (error) {
          if (at > passFrom) pieces.push(bytes.subarray(passFrom, at));
          this.#fail(error, pieces.length > 0);
          return false;
        }
        if (out !== undefined) {
          if (at > passFrom) pieces.push(bytes.subarray(passFrom, at));
          if (out.length > 0) pieces.push(out);
          passFrom = end;
        }
        if (this.done) {
          if (end > passFrom) pieces.push(bytes.subarray(passFrom, end));
          return false;
        }
      }
      at = end;
    }
    if (at > passFrom) pieces.push(bytes.subarray(passFrom, at));
    if (at < bytes.length) {
      const out = this.#hold(bytes.subarray(at));
      if (out !== undefined) pieces.push(out);
    }
    return true;
  }

  /** The end of an event that differs from one found good only inside its one string; -1 for any other. */
  #commonEnd(bytes: Buffer, start: number): number {
    // Plain loops: for so few bytes each step into native code costs more than it saves.
    const { length } = bytes;
    for (const template of this.#templates) {
      const { prefix, suffix } = template;
      const from = start + prefix.length;
      if (from + suffix.length > length) continue;
      // From behind: the fields that vary stand at the end of the prefix.
      let i = prefix.length - 1;
      while (i >= 0 && bytes[start + i] === prefix[i]) i--;
      if (i >= 0) continue;
      let lf = from;
      const near = Math.min(length, from + NEAR_BYTES);
      while (lf < near && bytes[lf] !== LF) lf++;
      if (lf === near) {
        lf = near === length ? -1 : bytes.indexOf(LF, near);
        if (lf === -1) return -1;
      }
      const end = lf + 2;
      const literalEnd = end - suffix.length;
      if (end > length || literalEnd < from) continue;
      let j = suffix.length - 1;
      while (j >= 0 && bytes[literalEnd + j] === suffix[j]) j--;
      if (j >= 0) continue;
      if (template.text && this.#options.capture === true) this.#literal += bytes.toString("utf8", from, literalEnd);
      return end;
    }
    return -1;
  }

  /** One block up to its blank line. Undefined: it may pass as it is. */
  #block(bytes: Buffer, start: number, end: number): Buffer | undefined {
    if (bytes[start] === COLON && bytes.indexOf(LF, start) === end - 2) return undefined;
    const plain =
      end - start > 8 &&
      bytes.compare(DATA, 0, 6, start, start + 6) === 0 &&
      bytes.indexOf(LF, start) === end - 2 &&
      bytes[end - 3] !== CR;
    if (plain) return this.#event(bytes.subarray(start + 6, end - 2), "message", true, bytes.subarray(start, end));
    const out: Buffer[] = [];
    const parser = createSseParser((data, event) => {
      if (this.done) return;
      const mended = this.#event(data, event, false);
      if (mended !== undefined) out.push(mended);
    });
    parser.push(bytes.subarray(start, end));
    parser.end();
    return out.length === 0 ? NOTHING : Buffer.concat(out);
  }

  /** One event's data. Undefined (only where it stands as `data: …` on one line): it may pass as it is. */
  #event(data: Buffer, name: string, plain: boolean, block?: Buffer): Buffer | undefined {
    if (data.length === 0) return NOTHING;
    const text = data.toString("utf8");
    if (text.trim() === "[DONE]") {
      const closing = this.#closing();
      this.done = true;
      if (plain && closing.length === 0 && data.length === 6) return undefined;
      return Buffer.concat([closing, DONE]);
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw upstreamError({ kind: "upstream", message: "The upstream sent an event that is not JSON." }, 200);
    }
    const error = errorIn(name === "error" && isObject(value) && !value["error"] ? { error: value } : value);
    if (error !== undefined) throw error;
    if (!isObject(value))
      throw upstreamError({ kind: "upstream", message: "The upstream sent an event that is not an object." }, 200);
    return this.#chunk(value, plain, block);
  }

  #chunk(chunk: Fields, plain: boolean, block: Buffer | undefined): Buffer | undefined {
    let changed = false;
    const usage = chunk["usage"];
    if (isObject(usage)) {
      if (mendUsage(usage)) changed = true;
      this.usage = usage as unknown as Usage;
    }
    if (!Array.isArray(chunk["choices"])) chunk["choices"] = [];
    const choices = chunk["choices"] as unknown[];
    if (choices.length === 0) {
      // Azure's annotation frames, or a usage chunk that came early or was not asked for: clients look at `choices[0]`.
      const wanted = isObject(usage) && this.#options.includeUsage && !this.#usageSent && this.#allFinished();
      if (!wanted) return NOTHING;
      this.#usageSent = true;
      if (this.#identify(chunk)) changed = true;
      return plain && !changed ? undefined : encode(chunk);
    }
    if (this.#identify(chunk)) changed = true;
    if (isObject(usage) || (usage === null && !this.#options.includeUsage && usage !== undefined)) {
      if (isObject(usage)) {
        delete chunk["usage"];
        changed = true;
      }
    }
    let empty = true;
    for (let i = 0; i < choices.length; i++) {
      const choice = choices[i];
      if (!isObject(choice)) continue;
      if (typeof choice["index"] !== "number") {
        choice["index"] = i;
        changed = true;
      }
      if (!isObject(choice["delta"])) {
        choice["delta"] = isObject(choice["message"]) ? choice["message"] : {};
        delete choice["message"];
        changed = true;
      }
      const before = this.#choices.get(choice["index"] as number)?.finished === true;
      if (this.#mendChoice(choice)) changed = true;
      const delta = choice["delta"] as Fields;
      const hollow = Object.keys(delta).every((key) => delta[key] === "" || delta[key] == null);
      if (!(before && hollow && choice["finish_reason"] == null)) empty = false;
    }
    if (empty) return NOTHING;
    if (plain && !changed) {
      if (block !== undefined && choices.length === 1) this.#learn(block, choices[0] as Fields);
      return undefined;
    }
    return encode(chunk);
  }

  /** One id, model and time throughout: those of the first chunk. */
  #identify(chunk: Fields): boolean {
    let changed = false;
    if (this.#id === undefined) {
      const { id, created, model } = this.#options;
      this.#id = typeof chunk["id"] === "string" && chunk["id"] !== "" ? chunk["id"] : id;
      this.#created =
        Number.isInteger(chunk["created"]) && (chunk["created"] as number) > 0 ? (chunk["created"] as number) : created;
      this.#model = typeof chunk["model"] === "string" && chunk["model"] !== "" ? chunk["model"] : model;
    }
    if (chunk["id"] !== this.#id) {
      chunk["id"] = this.#id;
      changed = true;
    }
    if (chunk["created"] !== this.#created) {
      chunk["created"] = this.#created;
      changed = true;
    }
    if (chunk["model"] !== this.#model) {
      chunk["model"] = this.#model;
      changed = true;
    }
    if (chunk["object"] !== "chat.completion.chunk") {
      chunk["object"] = "chat.completion.chunk";
      changed = true;
    }
    return changed;
  }

  #stateOf(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      state = { role: false, finished: false, callsById: new Map(), callsByIndex: new Map(), calls: 0 };
      this.#choices.set(index, state);
    }
    return state;
  }

  #mendChoice(choice: Fields): boolean {
    let changed = false;
    const index = choice["index"] as number;
    const state = this.#stateOf(index);
    const delta = choice["delta"] as Fields;
    if (!state.role) {
      if (delta["role"] !== "assistant") {
        choice["delta"] = { role: "assistant", ...delta, ...(delta["role"] !== undefined && { role: "assistant" }) };
        changed = true;
      }
      state.role = true;
    } else if ("role" in delta) {
      delete delta["role"];
      changed = true;
    }
    const mended = choice["delta"] as Fields;
    if (mendText(mended)) changed = true;
    if (Array.isArray(mended["tool_calls"]) && mendCalls(mended["tool_calls"], state)) changed = true;
    if (index === 0 && this.#options.capture === true && typeof mended["content"] === "string") {
      this.#literal += JSON.stringify(mended["content"]).slice(1, -1);
    }
    const given = choice["finish_reason"];
    const reason = finishReason(given, state.calls > 0);
    if (reason === undefined) {
      if (given !== null) {
        choice["finish_reason"] = null;
        changed = true;
      }
    } else if (state.finished) {
      choice["finish_reason"] = null;
      changed = true;
    } else {
      state.finished = true;
      this.finishReason ??= reason;
      if (reason !== given) {
        choice["finish_reason"] = reason;
        changed = true;
      }
    }
    return changed;
  }

  #allFinished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const state of this.#choices.values()) if (!state.finished) return false;
    return true;
  }

  /** What is missing before `[DONE]`: finish reasons, and the usage chunk. */
  #closing(): Buffer {
    if (this.#id === undefined) return NOTHING;
    const head = { id: this.#id, object: "chat.completion.chunk", created: this.#created, model: this.#model };
    const out: Buffer[] = [];
    for (const [index, state] of this.#choices) {
      if (state.finished) continue;
      state.finished = true;
      const reason = state.calls > 0 ? "tool_calls" : "stop";
      this.finishReason ??= reason;
      out.push(encode({ ...head, choices: [{ index, delta: {}, finish_reason: reason }] }));
    }
    if (this.#options.includeUsage && !this.#usageSent && this.usage !== undefined) {
      this.#usageSent = true;
      out.push(encode({ ...head, choices: [], usage: this.usage }));
    }
    return out.length === 0 ? NOTHING : Buffer.concat(out);
  }

  /** Remembers the shape of a good event with one string in its delta, and nothing else that could matter. */
  #learn(block: Buffer, choice: Fields): void {
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
    this.#templates = [template, ...this.#templates.slice(0, 2)];
  }
}

function mendCalls(calls: unknown[], state: ChoiceState): boolean {
  let changed = false;
  for (const call of calls) {
    if (!isObject(call)) continue;
    const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : undefined;
    const given = typeof call["index"] === "number" ? call["index"] : undefined;
    const known =
      id !== undefined
        ? state.callsById.get(id)
        : given !== undefined
          ? state.callsByIndex.get(given)
          : state.calls - 1;
    const fn = call["function"];
    const named = isObject(fn) && typeof fn["name"] === "string" && fn["name"] !== "";
    let index: number;
    // Gemini's OpenAI layer gives every parallel call the index 0; others give none.
    const fresh = known === undefined || known < 0 || (id === undefined && given === undefined && named);
    if (fresh) {
      index = given !== undefined && !state.callsByIndex.has(given) && given >= state.calls ? given : state.calls;
      state.calls = index + 1;
      if (id === undefined) {
        call["id"] = newCallId();
        changed = true;
      } else state.callsById.set(id, index);
      if (typeof call["type"] !== "string") {
        call["type"] = "function";
        changed = true;
      }
    } else index = known;
    if (given !== undefined) state.callsByIndex.set(given, index);
    if (given !== index) {
      call["index"] = index;
      changed = true;
    }
    if (mendArguments(fn, false)) changed = true;
  }
  return changed;
}

/** The end of the block that begins at `from`, behind its blank line; -1 where it is not there yet. */
function blockEnd(bytes: Buffer, from: number): number {
  let lf = bytes.indexOf(LF, from);
  while (lf !== -1 && lf + 1 < bytes.length) {
    if (bytes[lf + 1] === LF) return lf + 2;
    lf = bytes.indexOf(LF, lf + 1);
  }
  return -1;
}

function encode(value: unknown): Buffer {
  return Buffer.from(`data: ${JSON.stringify(value)}\n\n`);
}

function join(pieces: Buffer[]): Buffer | undefined {
  return pieces.length === 0 ? undefined : pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
