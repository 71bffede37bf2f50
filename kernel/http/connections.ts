/**
 * Tracks the requests of each connection: counts them, writes the access log, and ends connections in an orderly way.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks"; // the global one is a getter
import type { Duplex } from "node:stream";
import type { AccessEntry } from "../log/access-lines.ts";
import type { EndedRequest } from "../contract/index.ts";
import type { RequestContext } from "./request/context.ts";

/** The requests in progress on a connection. */
export interface ConnectionState {
  count: number;
  /** The number of bytes sent for earlier responses on the connection. */
  sentBytes: number;
  /** The latest request. The member exists from the start, so that all objects have one shape. */
  call?: RequestContext | undefined;
}

/** The time that a cut request has to send a last error or event. */
const LAST_MESSAGE_MS = 1_000;

const WORK = Symbol("work");
type TrackedResponse = ServerResponse & {
  [WORK]?: { call: RequestContext; connection: ConnectionState; startedAt: number };
};

/** The end of a request: `ms` is its duration, and `cut` is true if the response was not sent completely. */
interface Ending {
  status: number;
  ms: number;
  cut: boolean;
}

type Sockets = ReadonlyMap<Duplex, unknown> | ReadonlySet<Duplex>;

export interface ConnectionsOptions {
  /** Writes the access-log line of one request. */
  access: (entry: AccessEntry) => void;
  /** The listener for ended requests; undefined if there is none. */
  watchers: (() => ((request: EndedRequest) => void) | undefined) | undefined;
  closing: AbortSignal;
}

/** Pages that poll send this header, so that their requests do not fill the log. */
const POLL_HEADER = "x-portico-poll";
/** The values of `Sec-Fetch-Dest` that browsers send for the files of a page. */
const PAGE_FILES: ReadonlySet<unknown> = new Set(["script", "style", "image", "font"]);

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Map<Duplex, ConnectionState>();
  readonly #handedOver = new Set<Duplex>();
  #active = 0;
  /** Called when a connection closes or is handed over. */
  #onChange = (): void => {};
  /** A listener that all responses share: a closure for each would live as long as the request. */
  readonly #onClose: (this: TrackedResponse) => void;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const connections = this;
    this.#onClose = function (this: TrackedResponse) {
      connections.#finish(this);
    };
  }

  /** The number of requests in progress. */
  get active(): number {
    return this.#active;
  }

  add(socket: Socket): void {
    this.#connections.set(socket, { count: 0, sentBytes: socket.bytesWritten, call: undefined });
    socket.once("close", () => {
      setImmediate(closeUnsent, this.stateOf(socket));
      this.#connections.delete(socket);
      this.#handedOver.delete(socket);
      this.#onChange();
    });
  }

  /** Hands the connection over to a new owner. It carries no HTTP from now on. */
  handOver(socket: Duplex): void {
    this.#connections.delete(socket);
    this.#handedOver.add(socket);
    this.#onChange();
  }

  /**
   * Counts a request until its response is sent or the client disconnects, then logs it. Returns false if the request
   * must get no response.
   */
  track(call: RequestContext): boolean {
    const res: TrackedResponse = call.plain;
    const { socket } = call.req;
    const connection = this.stateOf(socket);
    // The request follows one that ends the connection (RFC 9112, 9.6). Node would begin a response, and fail.
    if (socket.writableEnded || connection.call?.plain.getHeader("connection") === "close")
      return false;
    connection.count++;
    call.previous = connection.call;
    connection.call = call;
    this.#active++;
    res[WORK] = { call, connection, startedAt: performance.now() };
    res.on("close", this.#onClose);
    return true;
  }

  stateOf(socket: Duplex): ConnectionState {
    return this.#connections.get(socket) ?? { count: 0, sentBytes: 0, call: undefined };
  }

  /** Whether a connection could be closed without harm: it waits for a request, or for the rest of its head. */
  isIdle(socket: Duplex): boolean {
    return this.#connections.get(socket)?.count === 0;
  }

  /**
   * Closes idle connections at once, and the others after their response. After `graceMs`, calls `overdue` for the
   * remaining requests, which may send a last message, and then cuts their connections.
   */
  async drain(graceMs: number, overdue: (call: RequestContext) => void): Promise<void> {
    for (const [socket, { count, call }] of this.#connections) {
      if (count === 0) (socket as Socket).destroySoon();
      else if (call && !call.plain.headersSent) call.res.setHeader("connection", "close");
    }
    await this.#waitForNone(this.#connections, graceMs);
    for (const { call } of this.#connections.values()) if (call) overdue(call);
    await this.#cut(this.#connections, LAST_MESSAGE_MS);
  }

  /** Waits up to `graceMs` for the owners of handed-over sockets to close them, then destroys the remaining ones. */
  cut(graceMs: number): Promise<void> {
    return this.#cut(this.#handedOver, graceMs);
  }

  async #cut(sockets: Sockets, graceMs: number): Promise<void> {
    await this.#waitForNone(sockets, graceMs);
    for (const socket of sockets.keys()) socket.destroy();
  }

  /** Resolves when no socket is left, or after `graceMs`. */
  #waitForNone(sockets: Sockets, graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#onChange = () => {
        if (sockets.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onChange();
    });
  }

  /** Ends the tracking of a request, whose response was sent or whose client has disconnected. */
  #finish(res: TrackedResponse): void {
    const { call, connection, startedAt } = res[WORK]!;
    this.#untrack(call, connection);
    const ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const bytes = call.req.socket.bytesWritten - connection.sentBytes;
    this.#report(call, { ms, bytes, cut: !res.writableFinished, status: getStatus(res) });
    connection.sentBytes += bytes;
    call.req.settle();
    call.handleClosed();
  }

  #untrack(call: RequestContext, connection: ConnectionState): void {
    call.previous = undefined;
    this.#active--;
    connection.count--;
    if (connection.count > 0) return;
    connection.call = undefined;
    if (this.#options.closing.aborted) call.req.socket.destroySoon();
  }

  #report(call: RequestContext, ending: Ending & { bytes: number }): void {
    const { id, isOwnId, method, path, tally, client, subject, error } = call;
    const { status } = ending;
    tally?.set(status, (tally.get(status) ?? 0) + 1);
    this.#options.access({
      id,
      isOwnId,
      method,
      path,
      ...ending,
      isRoutine: isRoutine(call, status),
      key: client.key,
      subject,
      code: error?.code,
    });
    this.#options.watchers?.()?.(new EndedCall(call, ending));
  }
}

/** Returns 499, which only the log and the counts show, if the client disconnected before the response began. */
function getStatus({ headersSent, statusCode }: ServerResponse): number {
  return headersSent ? statusCode : 499;
}

/**
 * Closes responses that wait for an earlier one of the connection: they have no socket yet, and some versions of Node
 * report its end to the first response only.
 */
function closeUnsent({ call }: ConnectionState): void {
  let unsent = call;
  while (unsent && !unsent.plain.closed) {
    const { plain, previous }: RequestContext = unsent;
    if (plain.socket === null) plain.destroy().emit("close");
    unsent = previous;
  }
}

/**
 * Whether a page refreshes its data, or a browser loads one of the dozens of files of a page, with success. A refusal is logged like
 * any other request.
 */
function isRoutine({ method, req }: RequestContext, status: number): boolean {
  if (method !== "GET" || status >= 400) return false;
  return req.headers[POLL_HEADER] !== undefined || PAGE_FILES.has(req.headers["sec-fetch-dest"]);
}

/** The ended request as watchers see it. Values that few of them need are computed on demand. */
class EndedCall implements EndedRequest {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly access: EndedRequest["access"];
  readonly client: EndedRequest["client"];
  readonly status: number;
  readonly ms: number;
  readonly cut: boolean;
  readonly error: EndedRequest["error"];
  readonly subject: EndedRequest["subject"];
  readonly #call: RequestContext;

  constructor(call: RequestContext, { status, ms, cut }: Ending) {
    this.id = call.id;
    this.method = call.method;
    this.path = call.path;
    this.access = call.access;
    this.client = call.client;
    this.status = status;
    this.ms = ms;
    this.cut = cut;
    this.error = call.error;
    this.subject = call.subject;
    this.#call = call;
  }

  get address(): string {
    return this.#call.address;
  }

  headers(): Record<string, string> {
    return collectHeaders(this.#call.plain, this.error?.headers);
  }
}

function collectHeaders(
  res: ServerResponse,
  errorHeaders: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers: Record<string, string> = {};
  const responseHeaders = res.getHeaders();
  for (const name in responseHeaders) headers[name] = String(responseHeaders[name]);
  return Object.assign(headers, errorHeaders);
}
