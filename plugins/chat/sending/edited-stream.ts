/** `message:streaming`: handlers see the text of a stream as it flows, and may change it or hold it back for a while. */
import type { ResponseStream, Sink } from "../job.ts";
import { onTopOf } from "../response-streams.ts";

/** Gives the text that goes out in place of this one. `final`: no more comes for this choice. */
export type Edit = (text: string, final: boolean, choice: number) => Promise<string>;

/** So many reads may wait for handlers before the upstream is slowed. */
const WAITING_READS = 16;

/** Makes a stream's bytes into those that go out. */
export interface StreamEditor {
  /** Of the first choice, as it went out. */
  readonly text: string;
  push(bytes: Buffer): Promise<Buffer>;
  end(): Promise<Buffer>;
}

/** The stream as the editor leaves it. A rejection of its handlers ends it with that error. */
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
