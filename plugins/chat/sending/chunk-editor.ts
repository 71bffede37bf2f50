/** `message:streaming` for chunks in OpenAI's form: their texts are put together for handlers, and go out as they leave them. */
import type { ChatChunk, ChatMessage } from "portico/chat";
import { textOf } from "../kit/stream/literal.ts";
import { saysOnlyText } from "../openai/read-chunks.ts";
import { Rewriting } from "../kit/stream/rewriting.ts";
import type { TextSpan } from "../kit/stream/text-spans.ts";
import {
  hasStrayTokens,
  TEXTS,
  type TextName,
  textIn,
  withMessage,
  withText,
} from "./chat-texts.ts";
import type { Edit, StreamEditor } from "./edited-stream.ts";
import { TextFinder } from "./text-finder.ts";

const COLON = 58;
const DATA = "data: ";
const BLANK_LINE = Buffer.from("\n\n");

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
  /** Texts that have had their last piece. */
  readonly #finished = new Set<number | string>();
  readonly #seen = new Map<number, ChatChunk>();
  /** Further texts of a choice, which its end ends as well. */
  readonly #further = new Map<number, Set<TextName>>();
  /** Of the texts that nobody has told of. */
  readonly #finder = new TextFinder();

  constructor(edit: Edit) {
    this.#edit = edit;
  }

  async push(bytes: Buffer, told?: readonly TextSpan[]): Promise<Buffer> {
    const out = new Rewriting(bytes);
    let piece: Piece | undefined;
    let next = 0;
    for (let at = 0; at < bytes.length; ) {
      const span = told === undefined ? this.#finder.spanAt(bytes, at) : told[next];
      if (span?.from === at) {
        next++;
        piece = withMore(piece, span.from, span.end, textOf(span.literal));
        at = span.end;
        continue;
      }
      const event = eventAt(bytes, at);
      const { chunk, end } = event;
      if (chunk !== undefined && saysOnlyText(chunk)) {
        this.#seen.set(0, chunk);
        if (told === undefined) this.#finder.learn(bytes.subarray(at, end));
        piece = withMore(piece, at, end, chunk.choices[0]!.delta.content as string);
        at = end;
        continue;
      }
      if (piece !== undefined)
        this.#put(piece, await this.#offer(piece.text, endsText(event), 0), out);
      piece = chunk && pieceOf(chunk, at, end);
      if (piece !== undefined) this.#seen.set(0, chunk!);
      else if (chunk !== undefined) await this.#change(chunk, at, end, out);
      else if (event.done) out.replace(at, at, await this.end());
      at = end;
    }
    if (piece !== undefined) this.#put(piece, await this.#offer(piece.text, false, 0), out);
    return out.result();
  }

  /** What handlers still hold back of choices that never finished. */
  async end(): Promise<Buffer> {
    const out: Buffer[] = [];
    for (const choice of this.#seen.keys()) out.push(await this.#last(choice));
    return Buffer.concat(out);
  }

  /** What goes out in place of the text. No promise of its own: each one on the way is a good part of what a call costs. */
  #offer(text: string, final: boolean, of: number | string): ReturnType<Edit> {
    if (final) this.#finished.add(of);
    return text === "" && !final ? text : this.#edit(text, final, of);
  }

  #put({ from, end, text, first }: Piece, edited: string, out: Rewriting): void {
    this.text += edited;
    if (edited === text) return;
    if (first !== undefined)
      first.choices = [
        withMessage(first.choices[0]!, { ...first.choices[0]!.delta, content: edited }),
      ];
    const empty = first === undefined && edited === "";
    out.replace(
      from,
      end,
      empty ? NOTHING : encode(first ?? eventOf(this.#seen.get(0)!, 0, { content: edited })),
    );
  }

  async #change(chunk: ChatChunk, from: number, end: number, out: Rewriting): Promise<void> {
    let changed = false;
    for (const [i, choice] of (chunk.choices ?? []).entries()) {
      const { index, finish_reason } = choice;
      let { delta } = choice;
      this.#seen.set(index, chunk);
      const final = finish_reason != null;
      for (const name of TEXTS) {
        const text = textIn(delta, name);
        if (text === undefined) continue;
        if (name !== "content") this.#furtherOf(index).add(name);
        const key = keyOf(index, name);
        const edited = await this.#offer(text, final && !this.#finished.has(key), key);
        if (key === 0) this.text += edited;
        if (edited !== text) delta = withText(delta, name, edited);
      }
      if (delta !== choice.delta || hasStrayTokens(choice, delta)) {
        chunk.choices[i] = withMessage(choice, delta);
        changed = true;
      }
      if (final) out.replace(from, from, await this.#last(index));
    }
    if (changed) out.replace(from, end, encode(chunk));
  }

  #furtherOf(choice: number): Set<TextName> {
    let names = this.#further.get(choice);
    if (names === undefined) this.#further.set(choice, (names = new Set()));
    return names;
  }

  /** The last piece of each text of the choice that has had none. */
  async #last(choice: number): Promise<Buffer> {
    const out: Buffer[] = [];
    for (const name of ["content", ...(this.#further.get(choice) ?? [])] as TextName[]) {
      const key = keyOf(choice, name);
      const rest = this.#finished.has(key) ? "" : await this.#offer("", true, key);
      if (key === 0) this.text += rest;
      if (rest !== "")
        out.push(encode(eventOf(this.#seen.get(choice)!, choice, withText({}, name, rest))));
    }
    return out.length === 0 ? NOTHING : Buffer.concat(out);
  }
}

const NOTHING = Buffer.alloc(0);

interface StreamEvent {
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
  return { end, done, chunk };
}

function withMore(piece: Piece | undefined, from: number, end: number, text: string): Piece {
  if (piece === undefined) return { from, end, text, first: undefined };
  piece.text += text;
  piece.end = end;
  return piece;
}

/** Of one that has text of the first choice, and goes on. */
function pieceOf(chunk: ChatChunk, from: number, end: number): Piece | undefined {
  const [first, ...more] = chunk.choices ?? [];
  if (first?.index !== 0 || more.length > 0 || first.finish_reason != null) return undefined;
  const [content, ...others] = TEXTS.map((name) => textIn(first.delta, name));
  return content !== undefined && others.every((text) => text === undefined)
    ? { from, end, text: content, first: chunk }
    : undefined;
}

/** No more text of the first choice comes: what stands before the event is its last piece. */
function endsText({ done, chunk }: StreamEvent): boolean {
  if (done) return true;
  const first = chunk?.choices?.find(({ index }) => index === 0);
  return first?.finish_reason != null && !first.delta.content;
}

/** What handlers and this editor know a text by. */
function keyOf(choice: number, name: TextName): number | string {
  return name === "content" ? choice : `${choice}.${name}`;
}

function eventOf(
  { id, object, created, model }: ChatChunk,
  index: number,
  delta: Partial<ChatMessage>,
): ChatChunk {
  return { id, object, created, model, choices: [{ index, delta, finish_reason: null }] };
}

function encode(chunk: ChatChunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}
