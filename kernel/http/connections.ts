/** What runs on which connection: the count of answers under way, the access log, and an orderly end. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { AccessEntry } from "../log/log.ts";
import type { Exchange } from "./exchange.ts";

export interface Connections {
  add(socket: Socket): void;
  /** From here on the connection is no HTTP any more, but its new owner's. */
  handOver(socket: Duplex): void;
  /** Counts a call until its answer is out or its client gone, then logs its line. */
  begin(call: Exchange): void;
  /** The only call that runs on a connection, and how many do. */
  running(socket: Duplex): { count: number; call: Exchange | undefined };
  /** Ends idle connections at once, the others with their answer, what is left after `graceMs` by force. */
  end(graceMs: number): Promise<void>;
  /** Ends what was handed over: its owners have `graceMs` for it, then it is cut. */
  cut(graceMs: number): Promise<void>;
  /** Answers under way. */
  readonly active: number;
  /** Status → answers to requests that no route took. */
  readonly unmatched: ReadonlyMap<number, number>;
}

interface Line {
  count: number;
  call: Exchange | undefined;
}

export function createConnections(access: (entry: AccessEntry) => void, closing: AbortSignal): Connections {
  const lines = new Map<Duplex, Line>();
  const handedOver = new Set<Duplex>();
  const unmatched = new Map<number, number>();
  let active = 0;
  let changed = (): void => {};

  /** Resolves when there are none, at the latest after `graceMs`. */
  function until(isEmpty: () => boolean, graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      changed = () => {
        if (!isEmpty()) return;
        clearTimeout(timer);
        resolve();
      };
      changed();
    });
  }

  function begin(call: Exchange): void {
    const { req, plain: res } = call;
    const { socket } = req;
    const line = lines.get(socket);
    if (line) {
      line.count++;
      line.call = call;
    }
    active++;
    const started = performance.now();
    const sent = socket.bytesWritten;
    res.on("close", () => {
      active--;
      if (line && --line.count === 0) {
        line.call = undefined;
        if (closing.aborted) socket.destroySoon();
      }
      const status = res.headersSent ? res.statusCode : CLIENT_CLOSED;
      const tally = call.tally ?? unmatched;
      tally.set(status, (tally.get(status) ?? 0) + 1);
      access({
        id: call.id,
        method: call.method,
        path: call.path,
        status,
        ms: Math.round((performance.now() - started) * 10) / 10,
        bytes: socket.bytesWritten - sent,
        cut: !res.writableFinished,
      });
    });
  }

  return {
    add(socket) {
      lines.set(socket, { count: 0, call: undefined });
      socket.once("close", () => {
        lines.delete(socket);
        handedOver.delete(socket);
        changed();
      });
    },
    handOver(socket) {
      lines.delete(socket);
      handedOver.add(socket);
      changed();
    },
    begin,
    running: (socket) => lines.get(socket) ?? { count: 0, call: undefined },

    async end(graceMs) {
      for (const [socket, { count, call }] of lines) {
        if (count === 0) (socket as Socket).destroySoon();
        else if (call && !call.plain.headersSent) call.res.setHeader("connection", "close");
      }
      await until(() => lines.size === 0, graceMs);
      for (const socket of lines.keys()) socket.destroy();
    },

    async cut(graceMs) {
      await until(() => handedOver.size === 0, graceMs);
      for (const socket of handedOver) socket.destroy();
    },

    unmatched,
    get active() {
      return active;
    },
  };
}

/** For the log and the counts only: the client left before there was an answer. */
const CLIENT_CLOSED = 499;
