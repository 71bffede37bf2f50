/** `message:streaming`: handlers see the text of a stream as it flows, and may change it or hold it back for a while. */
import type { ChatChunk } from "portico/chat";
import { createSseParser } from "../kit/stream/sse-parser.ts";
import { EventPattern } from "../kit/stream/event-pattern.ts";
import type { ResponseStream, Sink } from "../job.ts";
import { onTopOf } from "../response-streams.ts";

/** Gives the text that goes out in place of this one. `final`: no more comes for this choice. */
export type Edit = (text: string, final: boolean, choice: number) => Promise<string>;

/** So many reads may wait for handlers before the upstream is slowed. */
const WAITING_READS = 16;
const CONTENT = Buffer.from('"content"');
/** The strings of a run, one behind the other, to be decoded at once: each by itself would take longer. */
const STRINGS = Buffer.allocUnsafeSlow(64 * 1024);

/** Makes a stream's bytes into those that go out. */
export interface StreamEditor {
  /** Of the first choice, as it went out. */
  readonly text: string;
  push(bytes: Buffer): Promise<Buffer>;
  end(): Promise<Buffer>;
}

/** The stream of a chat with its text as handlers leave it. A rejection of theirs ends it with that error. */
export function editedStream(source: ResponseStream, edit: Edit): ResponseStream {
  return throughEditor(source, new Editor(edit));
}

/** The stream as the editor leaves it. */
export function throughEditor(source: ResponseStream, editor: StreamEditor): ResponseStream {
  let wake: (() => void) | undefined;
  return onTopOf(source, {
    text: () => editor.text,
    start(sink) {
      const waiting: Buffer[] = [];
      let ended: (() => void) | undefined;
      let running = false;
      let over = false;
      const run = async (): Promise<void> => {
        running = true;
        try {
          while (waiting.length > 0 && !over) {
            // what came while handlers were busy is one piece to them
            const bytes = waiting.length === 1 ? waiting[0]! : Buffer.concat(waiting);
            waiting.length = 0;
            await send(sink, await editor.push(bytes));
            if (waiting.length === 0 && ended === undefined) source.resume();
          }
          if (ended !== undefined && !over) {
            await send(sink, await editor.end());
            over = true;
            ended();
          }
        } catch (error) {
          over = true;
          source.cancel();
          sink.fail(error as Parameters<Sink["fail"]>[0]);
        }
        running = false;
      };
      const go = () => {
        if (!running && !over) void run();
      };
      source.start({
        write(bytes) {
          waiting.push(bytes);
          go();
          return waiting.length < WAITING_READS;
        },
        end() {
          ended = () => sink.end();
          go();
        },
        fail(error) {
          ended = () => sink.fail(error);
          go();
        },
      });
    },
    resume() {
      wake?.();
      wake = undefined;
      source.resume();
    },
  });
  async function send(sink: Sink, bytes: Buffer): Promise<void> {
    if (bytes.length > 0 && !sink.write(bytes)) await new Promise<void>((resolve) => (wake = resolve));
  }
}

/** Texts of events that follow each other in what is pushed are one text to the handlers. */
class Editor implements StreamEditor {
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
    for (let at = 0; at < bytes.length; ) {
      const run = this.#run(bytes, at);
      const from = run === undefined ? at : run.end;
      const event = eventAt(bytes, from);
      if (run !== undefined) out.push(await this.#plain(bytes.subarray(at, from), run.text, endsText(event)));
      at = event?.end ?? from;
      if (event?.chunk === undefined) {
        if (event?.done === true) out.push(await this.end());
        if (event !== undefined) out.push(event.bytes);
      } else if (this.#learn(event.bytes, event.chunk)) {
        // One with nothing but text is the first of a run.
        at = from;
      } else {
        out.push(...(await this.#changed(event.bytes, event.chunk)));
      }
    }
    return out.length === 1 ? out[0]! : Buffer.concat(out);
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

  async #plain(events: Buffer, text: string, final: boolean): Promise<Buffer> {
    if (text === "" && !final) return events;
    const edited = await this.#offer(text, final, 0);
    if (edited === text) return events;
    return edited === "" ? NOTHING : eventOf(this.#seen.get(0)!, 0, edited);
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

/** Undefined where there are no more bytes. */
function eventAt(bytes: Buffer, at: number): StreamEvent | undefined {
  if (at === bytes.length) return undefined;
  const found = bytes.indexOf("\n\n", at);
  const end = found === -1 ? bytes.length : found + 2;
  const event = bytes.subarray(at, end);
  let data: string | undefined;
  const parser = createSseParser((one) => {
    data = one.toString("utf8");
  });
  parser.push(event);
  parser.end();
  const done = data === "[DONE]";
  return { bytes: event, end, done, chunk: data === undefined || done ? undefined : (JSON.parse(data) as ChatChunk) };
}

/** No more text of the first choice comes: what stands before the event is its last piece. */
function endsText(event: StreamEvent | undefined): boolean {
  if (event?.done === true) return true;
  const first = event?.chunk?.choices?.find(({ index }) => index === 0);
  return first?.finish_reason != null && !first.delta.content;
}

function eventOf(like: ChatChunk, index: number, content: string): Buffer {
  const { id, object, created, model } = like;
  return encode({ id, object, created, model, choices: [{ index, delta: { content }, finish_reason: null }] });
}

function encode(chunk: ChatChunk): Buffer {
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);
}
