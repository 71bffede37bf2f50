/** A stream whose first bytes are awaited: what breaks off before they have come can still be answered with an error. */
import type { ServerResponse } from "node:http";
import type { PorticoError } from "portico";
import { clientDisconnected, type ResponseStream, type Sink } from "../job.ts";
import { onTopOf } from "../response-streams.ts";

/** Resolves with the stream once so many bytes have come, or all of it; rejects with what it breaks off with before. */
export function beginningOf(
  res: ServerResponse,
  source: ResponseStream,
  bytes: number,
): Promise<ResponseStream> {
  const held: Buffer[] = [];
  let size = 0;
  let sink: Sink | undefined;
  let over: ((sink: Sink) => void) | undefined;

  const stream = onTopOf(source, {
    start(given) {
      sink = given;
      let open = true;
      for (const one of held.splice(0)) open = sink.write(one) && open;
      if (over !== undefined) over(sink);
      else if (open) source.resume();
    },
  });

  return new Promise((resolve, reject) => {
    const finish = (error?: PorticoError) => {
      over = (to) => (error === undefined ? to.end() : to.fail(error));
      if (sink !== undefined) over(sink);
      else if (error === undefined) resolve(stream);
      else reject(error);
    };
    res.once("close", () => reject(clientDisconnected()));
    source.start({
      write(one) {
        if (sink !== undefined) return sink.write(one);
        held.push(one);
        size += one.length;
        if (size > bytes) resolve(stream);
        return size <= bytes;
      },
      end: () => finish(),
      fail: (error) => finish(error),
    });
  });
}
