/** What runs on which connection: the count of requests under way, the access log, and an orderly end. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks"; // the global one is a getter
import type { Duplex } from "node:stream";
import type { AccessEntry } from "../log/access-lines.ts";
import type { EndedRequest } from "../contract/index.ts";
import type { RequestContext } from "./request/context.ts";

/** The requests of a connection that are under way. */
export interface Running {
  count: number;
  /** The number of bytes of earlier responses on the connection. */
  sent: number;
  /** The last of them. Present from the start, so that all objects have one shape. */
  call?: RequestContext | undefined;
}

/** How long requests that are cut have for a last word. */
const LAST_WORD_MS = 1_000;

const WORK = Symbol("work");
type Answering = ServerResponse & {
  [WORK]?: { call: RequestContext; connection: Running; startedAt: number };
};

/** How a request ended: `ms` since its beginning; `cut` if the response did not go out whole. */
interface Ending {
  status: number;
  ms: number;
  cut: boolean;
}

type Sockets = ReadonlyMap<Duplex, unknown> | ReadonlySet<Duplex>;

export interface ConnectionsOptions {
  /** Writes the line of one request. */
  access: (entry: AccessEntry) => void;
  /** The listener for ended requests; undefined if there is none. */
  watchers: (() => ((request: EndedRequest) => void) | undefined) | undefined;
  closing: AbortSignal;
}

/** Pages that ask again and again send this header, so that their requests do not fill the log. */
const POLL_HEADER = "x-portico-poll";
/** What browsers say in `Sec-Fetch-Dest` of the files that a page consists of. */
const PAGE_FILES: ReadonlySet<unknown> = new Set(["script", "style", "image", "font"]);

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Map<Duplex, Running>();
  readonly #handedOver = new Set<Duplex>();
  #active = 0;
  /** Called when a connection ends. */
  #onChange = (): void => {};
  /** A listener that all responses share: a closure for each would live as long as the request. */
  readonly #onClose: (this: Answering) => void;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const connections = this;
    this.#onClose = function (this: Answering) {
      connections.#finish(this);
    };
  }

  /** Requests under way. */
  get active(): number {
    return this.#active;
  }

  add(socket: Socket): void {
    this.#connections.set(socket, { count: 0, sent: socket.bytesWritten, call: undefined });
    socket.once("close", () => {
      setImmediate(closeUnsent, this.running(socket));
      this.#connections.delete(socket);
      this.#handedOver.delete(socket);
      this.#onChange();
    });
  }

  /** From here on the connection belongs to its new owner, and carries no HTTP any more. */
  handOver(socket: Duplex): void {
    this.#connections.delete(socket);
    this.#handedOver.add(socket);
    this.#onChange();
  }

  /** Counts a request until the response was sent or the client disconnected, then logs it. False: the request gets no response. */
  begin(call: RequestContext): boolean {
    const res: Answering = call.plain;
    const { socket } = call.req;
    const connection = this.running(socket);
    // It came behind the request that ends the connection (RFC 9112, 9.6). Node would begin a response, and fail.
    if (socket.writableEnded || connection.call?.plain.getHeader("connection") === "close")
      return false;
    connection.count++;
    call.before = connection.call;
    connection.call = call;
    this.#active++;
    res[WORK] = { call, connection, startedAt: performance.now() };
    res.on("close", this.#onClose);
    return true;
  }

  running(socket: Duplex): Running {
    return this.#connections.get(socket) ?? { count: 0, sent: 0, call: undefined };
  }

  /** Whether a connection could be closed without harm: it waits for a request, or for the rest of its head. */
  isIdle(socket: Duplex): boolean {
    return this.#connections.get(socket)?.count === 0;
  }

  /**
   * Ends idle connections at once, and the others with their response. Connections that are left after `graceMs` are
   * cut, after `overdue` had the chance to send a last word.
   */
  async end(graceMs: number, overdue: (call: RequestContext) => void): Promise<void> {
    for (const [socket, { count, call }] of this.#connections) {
      if (count === 0) (socket as Socket).destroySoon();
      else if (call && !call.plain.headersSent) call.res.setHeader("connection", "close");
    }
    await this.#allGone(this.#connections, graceMs);
    for (const { call } of this.#connections.values()) if (call) overdue(call);
    await this.#cut(this.#connections, LAST_WORD_MS);
  }

  /** Waits `graceMs` for the owners of handed-over sockets to end them, then cuts those that are left. */
  cut(graceMs: number): Promise<void> {
    return this.#cut(this.#handedOver, graceMs);
  }

  async #cut(sockets: Sockets, graceMs: number): Promise<void> {
    await this.#allGone(sockets, graceMs);
    for (const socket of sockets.keys()) socket.destroy();
  }

  /** Resolves when none of the sockets is left, at the latest after `graceMs`. */
  #allGone(sockets: Sockets, graceMs: number): Promise<void> {
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

  /** The response was sent, or the client has disconnected. */
  #finish(res: Answering): void {
    const { call, connection, startedAt } = res[WORK]!;
    this.#leave(call, connection);
    const ms = Math.round((performance.now() - startedAt) * 10) / 10;
    const bytes = call.req.socket.bytesWritten - connection.sent;
    this.#report(call, { ms, bytes, cut: !res.writableFinished, status: statusOf(res) });
    connection.sent += bytes;
    call.req.settle();
    call.closed();
  }

  #leave(call: RequestContext, connection: Running): void {
    call.before = undefined;
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
    this.#options.watchers?.()?.(new Ended(call, ending));
  }
}

/** 499 is for the log and the counts only: the client left before there was a response. */
function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent ? statusCode : 499;
}

/** Responses whose turn has not come have no socket yet. Some versions of Node report its end to the first one only. */
function closeUnsent({ call }: Running): void {
  let unsent = call;
  while (unsent && !unsent.plain.closed) {
    const { plain, before }: RequestContext = unsent;
    if (plain.socket === null) plain.destroy().emit("close");
    unsent = before;
  }
}

/**
 * Whether a page asks again and again, or a browser loads the dozens of files of a page, and with success: a refusal is
 * logged like any other request.
 */
function isRoutine({ method, req }: RequestContext, status: number): boolean {
  if (method !== "GET" || status >= 400) return false;
  return req.headers[POLL_HEADER] !== undefined || PAGE_FILES.has(req.headers["sec-fetch-dest"]);
}

/** What watchers get. What not all of them need is made at first use. */
class Ended implements EndedRequest {
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
    return headersOf(this.#call.plain, this.error?.headers);
  }
}

function headersOf(
  res: ServerResponse,
  ofError: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers: Record<string, string> = {};
  const sent = res.getHeaders();
  for (const name in sent) headers[name] = String(sent[name]);
  return Object.assign(headers, ofError);
}
