/** Connects to an upstream through a proxy: with a tunnel for https, and with requests in absolute form for http. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { dialProxy, tunnel } from "portico/egress";

/** The proxy could not be reached, or refused the connection. The message names it without its credentials. */
export class ProxyFailure extends Error {
  constructor(proxy: URL, { code, cause }: { code?: string; cause?: unknown }) {
    const status =
      cause instanceof Error ? /^HTTP\/1\.\d (\d{3})/.exec(cause.message)?.[1] : undefined;
    const problem =
      status === undefined
        ? `could not be reached (${code ?? "closed"})`
        : `refused the connection (HTTP ${status})`;
    super(`the proxy ${proxy.origin} ${problem}`);
  }
}

/** Returns the header line with the credentials, for requests that the proxy itself reads; empty if it has none. */
export function credentialsLine({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `proxy-authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** A connection to the host through the proxy. Written data waits until the proxy has opened the connection. */
export class Tunnel extends Duplex {
  readonly #socket: Socket;
  readonly #ready: Promise<void>;

  constructor(proxy: URL, host: string, port: number, timeoutMs: number) {
    super({ allowHalfOpen: false });
    const socket = dialProxy(proxy);
    this.#socket = socket;
    let socketError: NodeJS.ErrnoException | undefined;
    socket.on("error", (error) => {
      socketError ??= error;
    });
    // A destroyed stream still waits for its construction, so a timeout must end that.
    socket.setTimeout(timeoutMs, () => {
      socketError ??= Object.assign(new Error(), { code: "ETIMEDOUT" });
      socket.destroy();
    });
    this.#ready = tunnel(socket, proxy, host, port).catch((error: Error) => {
      throw new ProxyFailure(proxy, socketError ?? { cause: error.cause });
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
