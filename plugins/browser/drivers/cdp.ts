/** The DevTools protocol over a WebSocket, for what must work without the automation library. */
import { PorticoError } from "portico";
import { dialSocket, readMessages, type WebSocket } from "../net/web-socket.ts";
import { within } from "../deadline.ts";

/** Snapshots and pictures of large pages come as one message. */
export const MAX_MESSAGE_BYTES = 256 << 20;

/** Something that answers DevTools commands: a raw connection, or a session of the automation library. */
export interface CdpSession {
  send<T = Record<string, unknown>>(method: string, params?: object): Promise<T>;
}

interface Answer {
  id?: number;
  result?: never;
  error?: { message: string };
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** One connection to a browser's (or a tab's) socket. */
export class Cdp implements CdpSession {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  #id = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    readMessages(socket, { json: (message) => this.#take(message as Answer) });
    socket.on("close", () => this.#fail());
    socket.on("error", () => this.#fail());
  }

  /** Connects. 504 `timeout` where the handshake takes longer than `timeoutMs`, 409 where nobody listens. */
  static async connect(url: string, options: { timeoutMs: number; headers?: Record<string, string> }): Promise<Cdp> {
    const socket = await dialSocket(url, { headers: options.headers ?? {}, maxMessageBytes: MAX_MESSAGE_BYTES });
    const open = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", (error) =>
        reject(
          new PorticoError("browser_not_running", "The browser's debugging socket refused the connection.", {
            cause: error,
          }),
        ),
      );
    });
    try {
      await within(options.timeoutMs, "The handshake with the browser's debugging socket", open);
    } catch (error) {
      socket.terminate();
      throw error;
    }
    return new Cdp(socket);
  }

  send<T = Record<string, unknown>>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      if (this.#socket.readyState !== this.#socket.OPEN) {
        reject(new Error("Connection closed"));
        return;
      }
      this.#waiting.set(id, { resolve: resolve as (value: never) => void, reject });
      this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  }

  /** A session of one target over this connection. */
  async attach(targetId: string): Promise<CdpSession & { detach(): Promise<void> }> {
    const { sessionId } = await this.send<{ sessionId: string }>("Target.attachToTarget", { targetId, flatten: true });
    return {
      send: (method, params) => this.send(method, params, sessionId),
      detach: async () => {
        await this.send("Target.detachFromTarget", { sessionId }).catch(() => {});
      },
    };
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  close(): void {
    this.#socket.close();
  }

  #take(message: Answer): void {
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id!);
    if (message.error === undefined) waiting.resolve(message.result as never);
    else waiting.reject(new Error(message.error.message));
  }

  #fail(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("Connection closed"));
    this.#waiting.clear();
  }
}
