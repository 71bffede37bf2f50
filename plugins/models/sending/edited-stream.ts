/** `message:streaming`: handlers see the text of a stream as it flows, and may change it or hold it back for a while. */
import type { Flow } from "../streams/flow.ts";

/** Gives the text that goes out in place of this one. `of`: which text of the stream it is a piece of. `final`: its last. */
export type Edit = (text: string, final: boolean, of: number | string) => Promise<string> | string;

/** Makes what comes of a stream into what goes out. */
export interface FlowEditor<T> {
  push(items: readonly T[]): Promise<readonly T[]>;
  /** What the handlers still hold back. */
  end(): Promise<readonly T[]>;
}

/** The stream as the editor leaves it. A rejection of its handlers ends it with that error, and cuts the upstream. */
export async function* throughEditor<T>(
  source: Flow<T>,
  editor: FlowEditor<T>,
): AsyncGenerator<readonly T[], void> {
  const reads = source[Symbol.asyncIterator]();
  let failure: { error: unknown } | undefined;
  try {
    for (;;) {
      // What breaks off upstream comes behind what the handlers still hold back.
      const read = await reads.next().catch((error: unknown) => ({ error }));
      if ("error" in read) {
        failure = read;
        break;
      }
      if (read.done === true) break;
      yield await editor.push(read.value);
    }
    const rest = await editor.end();
    if (rest.length > 0) yield rest;
  } catch (error) {
    source.cancel();
    throw error;
  }
  if (failure !== undefined) throw failure.error;
}
