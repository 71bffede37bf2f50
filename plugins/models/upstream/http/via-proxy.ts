/** Connects to an upstream through a proxy: with a tunnel for https, and with requests in absolute form for http. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { dialProxy, tunnel } from "portico/egress";

/** No connection for a fault of the proxy, or because it refused. Says which one, without its credentials. */
export class ProxyFailure extends Error {
  constructor(proxy: URL, { code, cause }: { code?: string; cause?: unknown }) {
    const status =
      cause instanceof Error ? /^HTTP\/1\.\d (\d{3})/.exec(cause.message)?.[1] : undefined;
    const what =
      status === undefined
        ? `could not be reached (${code ?? "closed"})`
        : `refused the connection (HTTP ${status})`;
    super(`the proxy ${proxy.origin} ${what}`);
  }
}

/** A line for requests that a proxy itself reads; empty where it asks for no credentials. */
export function credentialsLine({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `proxy-authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** A connection to the host behind the proxy. What is written waits until the proxy has made it. */
export class Tunnel extends Duplex {
  readonly #socket: Socket;
  readonly #ready: Promise<void>;

  constructor(proxy: URL, host: string, port: number, timeoutMs: number) {
    super({ allowHalfOpen: false });
    const socket = dialProxy(proxy);
    this.#socket = socket;
    let lost: NodeJS.ErrnoException | undefined;
    socket.on("error", (error) => {
      lost ??= error;
    });
    // A destroyed stream still waits for its construction: that must end by itself.
    socket.setTimeout(timeoutMs, () => {
      lost ??= Object.assign(new Error(), { code: "ETIMEDOUT" });
      socket.destroy();
    });
    this.#ready = tunnel(socket, proxy, host, port).catch((error: Error) => {
      throw new ProxyFailure(proxy, lost ?? { cause: error.cause });
    });
  }

  override _construct(done: (error?: Error) => void): void {
    this.#ready.then(() => {
      this.#open();
      done();
    }, done);
  }

  #open(): void {
    const socket = this.#socket;
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => {
      if (!this.push(bytes)) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    socket.resume();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(
    bytes: Buffer,
    _coding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
