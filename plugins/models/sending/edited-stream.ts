/** `message:streaming`: handlers see the text of a stream as it flows, and may change it or hold it back for a while. */
import type { Flow } from "../streams/flow.ts";

/**
 * Returns the text to send in place of a piece. `textKey` identifies the text of the stream that contains it; `final`
 * marks its last piece.
 */
export type Edit = (
  text: string,
  final: boolean,
  textKey: number | string,
) => Promise<string> | string;

/** Edits the items of a stream. */
export interface FlowEditor<T> {
  push(items: readonly T[]): Promise<readonly T[]>;
  /** Returns what the handlers still hold back. */
  end(): Promise<readonly T[]>;
}

/**
 * Passes a stream through an editor. If a handler rejects, the stream ends with that error, and the upstream request is
 * cancelled.
 */
export async function* throughEditor<T>(
  source: Flow<T>,
  editor: FlowEditor<T>,
): AsyncGenerator<readonly T[], void> {
  const reads = source[Symbol.asyncIterator]();
  let failure: { error: unknown } | undefined;
  try {
    for (;;) {
      // An error of the upstream follows what the handlers still hold back.
      const result = await reads.next().catch((error: unknown) => ({ error }));
      if ("error" in result) {
        failure = result;
        break;
      }
      if (result.done === true) break;
      yield await editor.push(result.value);
    }
    const rest = await editor.end();
    if (rest.length > 0) yield rest;
  } catch (error) {
    source.cancel();
    throw error;
  }
  if (failure !== undefined) throw failure.error;
}
