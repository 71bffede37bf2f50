/** Writes comments into silent streams. One ticker serves all of them, so that it costs a busy stream only a flag. */
import type { ServerResponse } from "node:http";
import { takeOut } from "../../places.ts";

const TICK_MS = 500;
const SILENT_TICKS = 30;
const COMMENT = ": keep-alive\n\n";

interface Watched {
  res: ServerResponse;
  wrote: boolean;
  silent: number;
  place: number;
}

const watched: Watched[] = [];
let ticker: NodeJS.Timeout | undefined;

export interface KeepAlive {
  /** The stream has written something. */
  touch(): void;
  stop(): void;
}

/** A comment line goes out after each 15 s of silence. */
export function keepAlive(res: ServerResponse): KeepAlive {
  const entry: Watched = { res, wrote: true, silent: 0, place: watched.length };
  watched.push(entry);
  ticker ??= setInterval(tick, TICK_MS).unref();
  return {
    touch() {
      entry.wrote = true;
    },
    stop() {
      takeOut(watched, entry);
      if (watched.length > 0) return;
      clearInterval(ticker);
      ticker = undefined;
    },
  };
}

function tick(): void {
  for (const entry of watched) {
    if (entry.wrote) {
      entry.wrote = false;
      entry.silent = 0;
    } else if (++entry.silent >= SILENT_TICKS) {
      entry.silent = 0;
      // A client that does not read needs no sign of life.
      if (entry.res.socket?.writableNeedDrain !== true && !entry.res.writableEnded)
        entry.res.write(COMMENT);
    }
  }
}
