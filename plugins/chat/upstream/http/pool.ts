/** The kept-alive connections of one origin. As many are opened as there are requests at once. */
import { connect, isIP, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { Connection, type ConnectionEvents } from "./connection.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Shorter than common servers keep an idle connection, so that seldom one closes under a request. */
const IDLE_MS = 15_000;
const SWEEP_MS = 1000;
const PROBE_MS = 60_000;

export class Pool implements ConnectionEvents {
  readonly #url: URL;
  /** The last one that became free is the first to be taken: the others may grow old and go. */
  readonly #idle: Connection[] = [];
  #session: Buffer | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #closed = false;

  /** `origin`: scheme, host and port. */
  constructor(origin: string) {
    this.#url = new URL(origin);
  }

  take(): Connection {
    return this.#idle.pop() ?? this.#open();
  }

  /** Ends idle connections now, the others with their responses. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  idle(connection: Connection): void {
    if (this.#closed) {
      connection.destroy();
      return;
    }
    connection.idleSince = performance.now();
    this.#idle.push(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  gone(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  #sweep(): void {
    const tooOld = performance.now() - IDLE_MS;
    let count = 0;
    while (count < this.#idle.length && this.#idle[count]!.idleSince <= tooOld) count++;
    for (const connection of this.#idle.splice(0, count)) connection.destroy();
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #open(): Connection {
    const secure = this.#url.protocol === "https:";
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number(this.#url.port) || (secure ? 443 : 80);
    const socket = secure ? this.#openSecure(host, port) : connect({ host, port });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_MS);
    const connection = new Connection(socket, this);
    const timer = setTimeout(() => {
      connection.destroy(Object.assign(new Error("the connection took too long"), { code: "ETIMEDOUT" }));
    }, CONNECT_TIMEOUT_MS);
    const settled = () => clearTimeout(timer);
    socket.once(secure ? "secureConnect" : "connect", settled);
    socket.once("close", settled);
    return connection;
  }

  #openSecure(host: string, port: number): Socket {
    // Loaded at the first use: most installations on one machine never need it.
    const tls = process.getBuiltinModule("node:tls");
    const socket: TLSSocket = tls.connect({
      host,
      port,
      ALPNProtocols: ["http/1.1"],
      servername: isIP(host) === 0 ? host : undefined,
      session: this.#session,
    });
    socket.on("session", (session: Buffer) => {
      this.#session = session;
    });
    return socket;
  }
}
