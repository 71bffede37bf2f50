/** `message:streaming`: handlers see the text of a stream as it flows, and may change it or hold it back for a while. */
import type { ResponseStream, Sink } from "../job.ts";
import type { TextSpan } from "../kit/stream/text-spans.ts";
import { onTopOf } from "../response-streams.ts";

/** Gives the text that goes out in place of this one. `of`: which text of the stream it is a piece of. `final`: its last. */
export type Edit = (text: string, final: boolean, of: number | string) => Promise<string> | string;

/** So many reads may wait for handlers before the upstream is slowed. */
const WAITING_READS = 16;

/** What a source writes at once. */
interface Read {
  bytes: Buffer;
  texts: readonly TextSpan[] | undefined;
}

/** Makes a stream's bytes into those that go out. */
export interface StreamEditor {
  /** Of the first choice, as it went out. */
  readonly text: string;
  push(bytes: Buffer, texts?: readonly TextSpan[]): Promise<Buffer>;
  end(): Promise<Buffer>;
}

/** The stream as the editor leaves it. A rejection of its handlers ends it with that error. */
export function throughEditor(source: ResponseStream, editor: StreamEditor): ResponseStream {
  let wake: (() => void) | undefined;
  return onTopOf(source, {
    text: () => editor.text,
    start(sink) {
      const waiting: Read[] = [];
      let ended: (() => void) | undefined;
      let running = false;
      let over = false;
      const run = async (): Promise<void> => {
        running = true;
        try {
          while (waiting.length > 0 && !over) {
            // what came while handlers were busy is one piece to them
            const { bytes, texts } = waiting.length === 1 ? waiting[0]! : joined(waiting);
            waiting.length = 0;
            const full = send(sink, await editor.push(bytes, texts));
            if (full !== undefined) await full;
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
        write(bytes, texts) {
          waiting.push({ bytes, texts });
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
  /** A promise where the sink must be waited for. */
  function send(sink: Sink, bytes: Buffer): Promise<void> | undefined {
    if (bytes.length === 0 || sink.write(bytes)) return undefined;
    return new Promise((resolve) => (wake = resolve));
  }
}

function joined(reads: readonly Read[]): Read {
  const bytes = Buffer.concat(reads.map((read) => read.bytes));
  let before = 0;
  const texts = reads.map(({ bytes, texts }) => {
    const shift = before;
    before += bytes.length;
    return texts?.map(({ from, end, literal }) => ({
      from: from + shift,
      end: end + shift,
      literal,
    }));
  });
  return { bytes, texts: texts.every((known) => known !== undefined) ? texts.flat() : undefined };
}
