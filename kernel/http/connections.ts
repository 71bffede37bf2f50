/** What runs on which connection: the count of requests under way, the access log, and an orderly end. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks"; // the global one is a getter
import type { Duplex } from "node:stream";
import type { AccessEntry } from "../log/log.ts";
import type { EndedRequest } from "../contract/index.ts";
import type { RequestContext } from "./request/context.ts";

/** The requests of a connection that are under way. */
export interface Running {
  count: number;
  /** Bytes that have gone out with those before. */
  sent: number;
  /** The last of them. There from the start: a member that is added later lies in an array of its own. */
  call?: RequestContext | undefined;
}

/** How long those that are cut have for a last word. */
const LAST_WORD_MS = 1_000;

const WORK = Symbol("work");
type Answering = ServerResponse & {
  [WORK]?: { call: RequestContext; connection: Running; startedAt: number };
};

type Sockets = ReadonlyMap<Duplex, unknown> | ReadonlySet<Duplex>;

export type Connections = ReturnType<typeof createConnections>;

export interface ConnectionsOptions {
  /** Writes the line of one request. */
  access: (entry: AccessEntry) => void;
  /** Who hears of each request that has ended; undefined where nobody does. */
  watchers: (() => ((request: EndedRequest) => void) | undefined) | undefined;
  closing: AbortSignal;
}

/** A page that asks again and again says so with this header, and its requests do not fill the log. */
const POLL_HEADER = "x-portico-poll";

export function createConnections({ access, watchers, closing }: ConnectionsOptions) {
  const connections = new Map<Duplex, Running>();
  const handedOver = new Set<Duplex>();
  let active = 0;
  let changed = (): void => {};

  /** Resolves when all are gone, at the latest after `graceMs`. */
  function gone(sockets: Sockets, graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      changed = () => {
        if (sockets.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      changed();
    });
  }

  /** What is left after `graceMs` is cut. */
  async function cut(sockets: Sockets, graceMs: number): Promise<void> {
    await gone(sockets, graceMs);
    for (const socket of sockets.keys()) socket.destroy();
  }

  const running = (socket: Duplex): Running =>
    connections.get(socket) ?? { count: 0, sent: 0, call: undefined };

  /** A listener that all responses share: a closure for each would live as long as the request. */
  function onClose(this: Answering): void {
    const { call, connection, startedAt } = this[WORK]!;
    call.before = undefined;
    active--;
    if (--connection.count === 0) {
      connection.call = undefined;
      if (closing.aborted) call.req.socket.destroySoon();
    }
    // 499 is for the log and the counts only: the client left before there was a response.
    const status = this.headersSent ? this.statusCode : 499;
    const { id, isOwnId, method, path, tally, client, subject, error } = call;
    tally?.set(status, (tally.get(status) ?? 0) + 1);
    const ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const bytes = call.req.socket.bytesWritten - connection.sent;
    const cut = !this.writableFinished;
    access({
      id,
      isOwnId,
      method,
      path,
      status,
      ms,
      bytes,
      cut,
      isPoll: isPoll(call, status),
      key: client.key,
      subject,
      code: error?.code,
    });
    watchers?.()?.(endedRequest(call, { status, ms, cut }));
    connection.sent += bytes;
    call.req.settle();
    call.closed();
  }

  /** Responses whose turn has not come belong to no socket yet: of its end, some versions of Node tell the first one only. */
  function closeUnsent({ call }: Running): void {
    while (call && !call.plain.closed) {
      const { plain, before }: RequestContext = call;
      if (plain.socket === null) plain.destroy().emit("close");
      call = before;
    }
  }

  return {
    add(socket: Socket): void {
      connections.set(socket, { count: 0, sent: socket.bytesWritten, call: undefined });
      socket.once("close", () => {
        setImmediate(closeUnsent, running(socket));
        connections.delete(socket);
        handedOver.delete(socket);
        changed();
      });
    },
    /** From here on the connection is no HTTP any more, but its new owner's. */
    handOver(socket: Duplex): void {
      connections.delete(socket);
      handedOver.add(socket);
      changed();
    },
    /** Counts a request until its response is out or its client gone, then logs its line. False: it gets no response. */
    begin(call: RequestContext): boolean {
      const res: Answering = call.plain;
      const { socket } = call.req;
      const connection = running(socket);
      // It came behind the one that ends the connection (RFC 9112, 9.6). Node would begin a response, and trip over it.
      if (socket.writableEnded || connection.call?.plain.getHeader("connection") === "close")
        return false;
      connection.count++;
      call.before = connection.call;
      connection.call = call;
      active++;
      res[WORK] = { call, connection, startedAt: performance.now() };
      res.on("close", onClose);
      return true;
    },
    running,
    /** Whether a connection could be closed without harm: it waits for a request, or for the rest of its head. */
    isIdle: (socket: Duplex): boolean => connections.get(socket)?.count === 0,

    /** Ends idle connections at once, the others with their response, what is left after `graceMs` by force. `overdue` sends a last word. */
    async end(graceMs: number, overdue: (call: RequestContext) => void): Promise<void> {
      for (const [socket, { count, call }] of connections) {
        if (count === 0) (socket as Socket).destroySoon();
        else if (call && !call.plain.headersSent) call.res.setHeader("connection", "close");
      }
      await gone(connections, graceMs);
      for (const { call } of connections.values()) if (call) overdue(call);
      await cut(connections, LAST_WORD_MS);
    },
    /** Ends what was handed over: its owners have `graceMs` for it, then it is cut. */
    cut: (graceMs: number) => cut(handedOver, graceMs),

    /** Requests under way. */
    get active() {
      return active;
    },
  };
}

/** Who looks again and again at what went well; a refusal is logged like any other. */
function isPoll({ method, req }: RequestContext, status: number): boolean {
  return method === "GET" && status < 400 && req.headers[POLL_HEADER] !== undefined;
}

function endedRequest(
  call: RequestContext,
  { status, ms, cut }: Pick<EndedRequest, "status" | "ms" | "cut">,
): EndedRequest {
  const { id, method, path, access, client, error, subject, plain } = call;
  return {
    id,
    method,
    path,
    access,
    client,
    get address() {
      return call.address;
    },
    status,
    ms,
    cut,
    error,
    subject,
    headers: () => headersOf(plain, error?.headers),
  };
}

function headersOf(
  res: ServerResponse,
  ofError: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(res.getHeaders())) headers[name] = String(value);
  return { ...headers, ...ofError };
}
