/** Writes comments into silent streams. One ticker serves all of them, so that it costs a busy stream only a flag. */
import type { ServerResponse } from "node:http";
import { removeEntry } from "../../unordered-list.ts";

const TICK_MS = 500;
const SILENT_TICKS = 30;
const COMMENT = ": keep-alive\n\n";

interface WatchedStream {
  res: ServerResponse;
  hasWritten: boolean;
  silentTicks: number;
  place: number;
}

const streams: WatchedStream[] = [];
let ticker: NodeJS.Timeout | undefined;

export interface KeepAlive {
  /** Records that the stream has written something. */
  touch(): void;
  stop(): void;
}

/** Writes a comment line after every 15 s of silence. */
export function keepAlive(res: ServerResponse): KeepAlive {
  const entry: WatchedStream = { res, hasWritten: true, silentTicks: 0, place: streams.length };
  streams.push(entry);
  ticker ??= setInterval(tick, TICK_MS).unref();
  return {
    touch() {
      entry.hasWritten = true;
    },
    stop() {
      removeEntry(streams, entry);
      if (streams.length > 0) return;
      clearInterval(ticker);
      ticker = undefined;
    },
  };
}

function tick(): void {
  for (const entry of streams) {
    if (entry.hasWritten) {
      entry.hasWritten = false;
      entry.silentTicks = 0;
    } else if (++entry.silentTicks >= SILENT_TICKS) {
      entry.silentTicks = 0;
      // A client that does not read needs no comments.
      if (entry.res.socket?.writableNeedDrain !== true && !entry.res.writableEnded)
        entry.res.write(COMMENT);
    }
  }
}
