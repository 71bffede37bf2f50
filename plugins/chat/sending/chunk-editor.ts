/** `message:streaming` for chunks in OpenAI's form: their texts are put together for handlers, and go out as they leave them. */
import type { ChatChunk } from "portico/chat";
import { EventPattern } from "../kit/stream/event-pattern.ts";
import type { Edit, StreamEditor } from "./edited-stream.ts";

const COLON = 58;
const DATA = "data: ";
const BLANK_LINE = Buffer.from("\n\n");
const CONTENT = Buffer.from('"content"');
/** The strings of a run, one behind the other, to be decoded at once: each by itself would take longer. */
const STRINGS = Buffer.allocUnsafeSlow(64 * 1024);

/** Events that follow each other in what is pushed: their texts are one to the handlers. */
interface Piece {
  from: number;
  end: number;
  text: string;
  /** The one it begins with, where that says more than text: it then goes out with all of the changed text. */
  first: ChatChunk | undefined;
}

export class ChunkEditor implements StreamEditor {
  /** Of the first choice, as it went out. */
  text = "";
  readonly #edit: Edit;
  readonly #finished = new Set<number>();
  readonly #seen = new Map<number, ChatChunk>();
  #pattern: EventPattern | undefined;

  constructor(edit: Edit) {
    this.#edit = edit;
  }

  async push(bytes: Buffer): Promise<Buffer> {
    const out: Buffer[] = [];
    let piece: Piece | undefined;
    for (let at = 0; at < bytes.length; ) {
      const run = this.#run(bytes, at);
      if (run !== undefined) {
        piece ??= { from: at, end: at, text: "", first: undefined };
        piece.text += run.text;
        at = piece.end = run.end;
        continue;
      }
      const event = eventAt(bytes, at);
      const { chunk, end, done } = event;
      // One with nothing but text is the first of a run.
      if (chunk !== undefined && this.#learn(event.bytes, chunk)) continue;
      if (piece !== undefined) out.push(await this.#offerPiece(piece, bytes, endsText(event)));
      const text = chunk && textOf(chunk);
      piece = text === undefined ? undefined : { from: at, end, text, first: chunk };
      at = end;
      if (piece !== undefined) this.#seen.set(0, chunk!);
      else if (chunk !== undefined) out.push(...(await this.#changed(event.bytes, chunk)));
      else out.push(done ? await this.end() : NOTHING, event.bytes);
    }
    if (piece !== undefined) out.push(await this.#offerPiece(piece, bytes, false));
    return joined(out, bytes);
  }

  /** What handlers still hold back of choices that never finished. */
  async end(): Promise<Buffer> {
    const out: Buffer[] = [];
    for (const choice of this.#seen.keys()) out.push(await this.#last(choice));
    return Buffer.concat(out);
  }

  /** As many events as differ from a learned one in their text only. */
  #run(bytes: Buffer, from: number): { end: number; text: string } | undefined {
    const pattern = this.#pattern;
    if (pattern === undefined || !pattern.match(bytes, from)) return undefined;
    let end = from;
    let length = 0;
    do {
      const { stringStart, stringEnd } = pattern;
      if (length + stringEnd - stringStart > STRINGS.length) break;
      for (let at = stringStart; at < stringEnd; at++) STRINGS[length++] = bytes[at]!;
      end = pattern.eventEnd;
    } while (pattern.matchNext(bytes));
    // What finds no place there by itself is a run of one.
    const { stringStart, stringEnd, eventEnd } = pattern;
    const text = end === from ? bytes.toString("utf8", stringStart, stringEnd) : STRINGS.toString("utf8", 0, length);
    return { end: end === from ? eventEnd : end, text: JSON.parse(`"${text}"`) as string };
  }

  async #offerPiece({ from, end, text, first }: Piece, bytes: Buffer, final: boolean): Promise<Buffer> {
    const edited = text === "" && !final ? "" : await this.#offer(text, final, 0);
    if (edited === text) return bytes.subarray(from, end);
    if (first === undefined) return edited === "" ? NOTHING : eventOf(this.#seen.get(0)!, 0, edited);
    first.choices[0]!.delta.content = edited;
    return encode(first);
  }

  async #offer(text: string, final: boolean, choice: number): Promise<string> {
    if (final) this.#finished.add(choice);
    const edited = await this.#edit(text, final, choice);
    if (choice === 0) this.text += edited;
    return edited;
  }

  async #changed(event: Buffer, chunk: ChatChunk): Promise<Buffer[]> {
    const out: Buffer[] = [];
    let changed = false;
    for (const choice of chunk.choices ?? []) {
      const { index, delta } = choice;
      this.#seen.set(index, chunk);
      const final = choice.finish_reason != null;
      if (typeof delta.content === "string" && delta.content !== "") {
        const edited = await this.#offer(delta.content, final && !this.#finished.has(index), index);
        if (edited !== delta.content) {
          delta.content = edited;
          changed = true;
        }
      }
      if (final) out.push(await this.#last(index));
    }
    out.push(changed ? encode(chunk) : event);
    return out;
  }

  async #last(choice: number): Promise<Buffer> {
    if (this.#finished.has(choice)) return NOTHING;
    const rest = await this.#offer("", true, choice);
    return rest === "" ? NOTHING : eventOf(this.#seen.get(choice)!, choice, rest);
  }

  /** True where the event has become the pattern of those to come. */
  #learn(event: Buffer, chunk: ChatChunk): boolean {
    const [first, ...others] = chunk.choices ?? [];
    if (first === undefined || others.length > 0 || first.index !== 0 || first.finish_reason != null) return false;
    if (typeof first.delta.content !== "string" || Object.keys(first.delta).length !== 1) return false;
    // What a changed text goes out with has no place for them.
    if (chunk.usage != null) return false;
    const pattern = EventPattern.of(event, CONTENT, "none", Math.max(0, event.indexOf('"delta"')));
    if (!pattern?.match(event, 0)) return false;
    this.#pattern = pattern;
    this.#seen.set(0, chunk);
    return true;
  }
}

const NOTHING = Buffer.alloc(0);

interface StreamEvent {
  bytes: Buffer;
  end: number;
  /** It is the mark of the stream's end. */
  done: boolean;
  /** Undefined for that, and for a comment. */
  chunk: ChatChunk | undefined;
}

/** Of a stream that was mended: a chunk stands on one line, and what does not begin with `data: ` is a comment. */
function eventAt(bytes: Buffer, at: number): StreamEvent {
  const found = bytes.indexOf(BLANK_LINE, at);
  const end = found === -1 ? bytes.length : found + 2;
  const data = bytes[at] === COLON ? "" : bytes.toString("utf8", at + DATA.length, end);
  const done = data.startsWith("[DONE]");
  const chunk = data === "" || done ? undefined : (JSON.parse(data) as ChatChunk);
  return { bytes: bytes.subarray(at, end), end, done, chunk };
}

/** Of one that has text of the first choice, and goes on. */
function textOf({ choices }: ChatChunk): string | undefined {
  const [first, ...others] = choices ?? [];
  if (first?.index !== 0 || others.length > 0 || first.finish_reason != null) return undefined;
  const { content } = first.delta;
  return typeof content === "string" && content !== "" ? content : undefined;
}

/** No more text of the first choice comes: what stands before the event is its last piece. */
function endsText({ done, chunk }: StreamEvent): boolean {
  if (done) return true;
  const first = chunk?.choices?.find(({ index }) => index === 0);
  return first?.finish_reason != null && !first.delta.content;
}

/** The parts one behind the other: the bytes themselves where nothing of them was changed. */
function joined(parts: readonly Buffer[], bytes: Buffer): Buffer {
  let at = bytes.byteOffset;
  for (const { buffer, byteOffset, length } of parts) {
    if (length === 0) continue;
    if (buffer !== bytes.buffer || byteOffset !== at) return Buffer.concat(parts);
    at += length;
  }
  return at === bytes.byteOffset + bytes.length ? bytes : Buffer.concat(parts);
}

function eventOf(like: ChatChunk, index: number, content: string): Buffer {
  const { id, object, created, model } = like;
  return encode({ id, object, created, model, choices: [{ index, delta: { content }, finish_reason: null }] });
}

function encode(chunk: ChatChunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}
