/**
 * A stream in OpenAI's form, passed through. Events of the common shape are told by comparing bytes with one that was
 * read before, and leave as they came; everything else is parsed, mended where servers of that format go wrong, and
 * written anew only if that changed it.
 */
import type { PorticoError } from "portico";
import {
  createSseParser,
  type SseParser,
  type StreamDecoder,
  type UpstreamError,
  upstreamError,
  type Usage,
} from "portico/chat";
import { textIfAny } from "../kit/stream/literal.ts";
import { Rewriting } from "../kit/stream/rewriting.ts";
import { type TextSpan, TextSpans } from "../kit/stream/text-spans.ts";
import type { MaskedStream } from "../secrets/masked-stream.ts";
import { ChunkMender, type StreamOptions } from "./chunk-mender.ts";
import { type Fields, isObject } from "./fields.ts";
import { errorIn } from "./completion.ts";
import { type CommonEvent, CommonEvents } from "./common-events.ts";

const LF = 10;
const CR = 13;
const COLON = 58;
const DATA = Buffer.from("data: ");
const DONE = Buffer.from("data: [DONE]\n\n");
const NOTHING = Buffer.alloc(0);
/** Longer single events are refused: they would have to be held in memory whole. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

export class OpenAiStream implements StreamDecoder {
  failure?: PorticoError;
  /** `[DONE]` was written. */
  done = false;

  readonly #capture: boolean;
  readonly #mender: ChunkMender;
  readonly #common = new CommonEvents();
  #texts: TextSpans | undefined;
  readonly #mask: MaskedStream | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Set once the stream turned out not to end its lines with LF alone. */
  #parser: SseParser | undefined;
  #parsed: Buffer[] = [];

  /** `mask`: hides secrets in all that goes out. */
  constructor(options: StreamOptions, mask?: MaskedStream) {
    this.#mask = mask;
    this.#capture = options.capture === true;
    this.#mender = new ChunkMender(options);
    if (options.tellTexts === true) this.#texts = new TextSpans();
  }

  get usage(): Usage | undefined {
    return this.#mender.usage;
  }
  get finishReason(): string | undefined {
    return this.#mender.finishReason;
  }
  /** The text of the first choice so far, where `capture` was set. */
  get text(): string {
    return textIfAny(this.#mender.literal);
  }

  /** Where texts stand in what `push` gave last. Undefined where that is not known. */
  takeTexts(): readonly TextSpan[] | undefined {
    return this.#texts?.take();
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
      addTo(pieces, this.#pushParsed(rest));
    }
    if (this.#parser !== undefined && !this.done && this.failure === undefined) {
      this.#parsed = [];
      try {
        this.#parser.end();
      } catch (error) {
        this.#fail(error, pieces.length > 0 || this.#parsed.length > 0);
      }
      pieces.push(this.#hide(Buffer.concat(this.#parsed)));
    }
    if (!this.done && this.failure === undefined) {
      if (!this.#mender.started) throw nothingCame();
      pieces.push(this.#hide(Buffer.concat([this.#closing(), DONE])));
      this.done = true;
    }
    addTo(pieces, this.#mask?.end());
    return join(pieces);
  }

  /** Keeps the bytes of an event that is not complete; a CR among them changes the way of reading for good. */
  #hold(bytes: Buffer): Buffer | undefined {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#heldBytes > MAX_EVENT_BYTES) throw eventTooLarge();
    if (bytes.indexOf(CR) === -1) return undefined;
    const all = this.#held.length === 1 ? bytes : Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    this.#parser = this.#startParser();
    return this.#pushParsed(all);
  }

  #startParser(): SseParser {
    this.#texts = undefined;
    return createSseParser(
      (data, event) => {
        if (this.done) return;
        addTo(this.#parsed, this.#event(data, event, false));
      },
      (comment) =>
        this.#parsed.push(Buffer.concat([Buffer.from(":"), comment, Buffer.from("\n\n")])),
    );
  }

  #pushParsed(bytes: Buffer): Buffer | undefined {
    this.#parsed = [];
    try {
      this.#parser!.push(bytes);
    } catch (error) {
      this.#fail(error, this.#parsed.length > 0);
    }
    const out = join(this.#parsed);
    return out === undefined ? undefined : this.#hide(out);
  }

  /** What came before the error in the same read is still handed on; the error then waits in `failure`. */
  #fail(error: unknown, afterOutput: boolean): void {
    if (!afterOutput) throw error;
    this.failure = error as UpstreamError;
  }

  /** Goes through the events of a read; the incomplete last one is held. False where the stream is over. */
  #blocks(bytes: Buffer, start: number, pieces: Buffer[]): boolean {
    const out = new Rewriting(bytes, start);
    /** What goes out before it. */
    const before = pieces[0]?.length ?? 0;
    let at = start;
    let common: CommonEvent | undefined;
    while (at < bytes.length && !this.done) {
      common =
        common === undefined
          ? this.#common.match(bytes, at)
          : this.#common.matchNext(bytes, common);
      const end = common === undefined ? blockEnd(bytes, at) : common.pattern.eventEnd;
      if (end === -1) break;
      if (common !== undefined && this.#mayPass(common, bytes)) {
        const { stringStart, stringEnd } = common.pattern;
        if (this.#capture && common.text)
          this.#mender.literal += bytes.toString("utf8", stringStart, stringEnd);
        const from = before + out.position(at);
        if (common.renamed !== undefined) {
          out.replace(at, stringStart, common.renamed.prefix);
          out.replace(stringEnd, end, common.renamed.suffix);
        }
        if (common.text)
          this.#texts?.add(from, before + out.position(end), bytes, stringStart, stringEnd);
      } else {
        try {
          const mended = this.#readBlock(bytes, at, end);
          if (mended !== undefined) out.replace(at, end, mended);
        } catch (error) {
          addTo(pieces, out.result(at));
          this.#fail(error, pieces.length > 0);
          return false;
        }
      }
      at = end;
    }
    addTo(pieces, out.result(at));
    if (this.done) return false;
    if (at < bytes.length) addTo(pieces, this.#hold(bytes.subarray(at)));
    return true;
  }

  #mayPass({ pattern, growing }: CommonEvent, bytes: Buffer): boolean {
    if (this.#mask === undefined) return true;
    return (
      growing !== undefined &&
      this.#mask.passes(growing, bytes, pattern.stringStart, pattern.stringEnd)
    );
  }

  #hide(bytes: Buffer): Buffer {
    return this.#mask === undefined || bytes.length === 0 ? bytes : this.#mask.push(bytes);
  }

  /** One block without secrets. Undefined: it may pass as it is. */
  #readBlock(bytes: Buffer, start: number, end: number): Buffer | undefined {
    const out = this.#block(bytes, start, end);
    if (this.#mask === undefined) return out;
    const block = out ?? bytes.subarray(start, end);
    const hidden = this.#hide(block);
    const learned = this.#common.takeLearned();
    if (learned !== undefined) learned.growing = this.#mask.current;
    return hidden === block ? out : hidden;
  }

  /** One block up to its blank line. Undefined: it may pass as it is. */
  #block(bytes: Buffer, start: number, end: number): Buffer | undefined {
    if (bytes[start] === COLON && bytes.indexOf(LF, start) === end - 2) return undefined;
    const plain =
      end - start > 8 &&
      bytes.compare(DATA, 0, 6, start, start + 6) === 0 &&
      bytes.indexOf(LF, start) === end - 2 &&
      bytes[end - 3] !== CR;
    if (plain)
      return this.#event(
        bytes.subarray(start + 6, end - 2),
        "message",
        true,
        bytes.subarray(start, end),
      );
    const out: Buffer[] = [];
    const parser = createSseParser((data, event) => {
      if (this.done) return;
      addTo(out, this.#event(data, event, false));
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
      if (!this.#mender.started && this.usage === undefined) throw nothingCame();
      const closing = this.#closing();
      this.done = true;
      if (plain && closing.length === 0 && data.length === 6) return undefined;
      return Buffer.concat([closing, DONE]);
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (this.finishReason !== undefined) return NOTHING; // a usage chunk that was cut off
      throw upstreamError(
        { kind: "upstream", message: "The upstream sent an event that is not JSON." },
        200,
      );
    }
    const error = errorIn(
      name === "error" && isObject(value) && !value["error"] ? { error: value } : value,
    );
    if (error !== undefined) throw error;
    if (!isObject(value))
      throw upstreamError(
        { kind: "upstream", message: "The upstream sent an event that is not an object." },
        200,
      );
    const verdict = this.#mender.mend(value);
    const before = this.#mender.takeBefore();
    if (before.length > 0)
      return Buffer.concat([...before, ...(verdict === "drop" ? [] : [value])].map(encode));
    if (verdict === "drop") return NOTHING;
    if (verdict === "changed" || !plain) return encode(value);
    const choices = value["choices"] as Fields[];
    const written = verdict === "renamed" ? encode(value) : undefined;
    if (block !== undefined && choices.length === 1 && value["usage"] == null)
      this.#common.learn(block, choices[0]!, written);
    return written;
  }

  #closing(): Buffer {
    const missing = this.#mender.closing();
    return missing.length === 0 ? NOTHING : Buffer.concat(missing.map(encode));
  }
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

function addTo(pieces: Buffer[], bytes: Buffer | undefined): void {
  if (bytes !== undefined && bytes.length > 0) pieces.push(bytes);
}

function join(pieces: Buffer[]): Buffer | undefined {
  return pieces.length === 0 ? undefined : pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

export function eventTooLarge(): UpstreamError {
  const message = `The upstream sent one event of more than ${MAX_EVENT_BYTES >> 20} MiB.`;
  return upstreamError({ kind: "upstream", message }, 200);
}

function nothingCame(): UpstreamError {
  const message = "The upstream's stream ended before anything came.";
  return upstreamError({ kind: "upstream", message }, 200);
}
