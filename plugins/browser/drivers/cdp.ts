/** Sends commands of the DevTools protocol, for operations that must work without the automation library. */
import { errors } from "../errors.ts";
import { withTimeout } from "../deadline.ts";
import { dialSocket, readMessages, type WebSocket } from "../net/web-socket.ts";
import type { CdpMessage } from "./debugging/message.ts";
import type { Transport } from "./playwright.ts";

/** The limit is high because a snapshot or screenshot of a large page is one message. */
export const MAX_MESSAGE_BYTES = 256 << 20;

/** An endpoint that executes DevTools commands: a connection of ours, or a session of the automation library. */
export interface CdpSession {
  send<T = Record<string, unknown>>(method: string, params?: object): Promise<T>;
}

interface Pending {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** One connection to a browser. */
export class Cdp implements CdpSession {
  readonly #transport: Transport;
  readonly #pending = new Map<number, Pending>();
  #id = 0;
  #onClose: (() => void) | undefined;
  #isClosed = false;

  constructor(transport: Transport) {
    this.#transport = transport;
    transport.onmessage = (message) => this.#settle(message as CdpMessage);
    transport.onclose = () => this.#end();
  }

  /**
   * Connects to a debugging socket. Rejects with a 504 `timeout` if the handshake takes longer than `timeoutMs`, with a
   * 409 if nothing listens there.
   */
  static async connect(
    url: string,
    options: { timeoutMs: number; headers?: Record<string, string> },
  ): Promise<Cdp> {
    const socket = await dialSocket(url, {
      headers: options.headers ?? {},
      maxMessageBytes: MAX_MESSAGE_BYTES,
    });
    const open = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", (error) => reject(errors.debuggingRefused({ cause: error })));
    });
    try {
      await withTimeout(
        options.timeoutMs,
        "The handshake with the browser's debugging socket",
        open,
      );
    } catch (error) {
      socket.terminate();
      throw error;
    }
    return new Cdp(createSocketTransport(socket));
  }

  send<T = Record<string, unknown>>(
    method: string,
    params: object = {},
    sessionId?: string,
  ): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) {
        reject(new Error("Connection closed"));
        return;
      }
      this.#pending.set(id, { resolve: resolve as (value: never) => void, reject });
      this.#transport.send({ id, method, params, sessionId });
    });
  }

  /** Opens a session of one target over this connection. */
  async attach(targetId: string): Promise<CdpSession & { detach(): Promise<void> }> {
    const { sessionId } = await this.send<{ sessionId: string }>("Target.attachToTarget", {
      targetId,
      flatten: true,
    });
    return {
      send: (method, params) => this.send(method, params, sessionId),
      detach: async () => {
        await this.send("Target.detachFromTarget", { sessionId }).catch(() => {});
      },
    };
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
    if (this.#isClosed) listener();
  }

  close(): void {
    this.#transport.close();
    this.#end();
  }

  #settle({ id, result, error }: CdpMessage): void {
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id!);
    if (error === undefined) pending.resolve(result as never);
    else pending.reject(new Error(error.message));
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { reject } of this.#pending.values()) reject(new Error("Connection closed"));
    this.#pending.clear();
    this.#onClose?.();
  }
}

function createSocketTransport(socket: WebSocket): Transport {
  const transport: Transport = {
    send(message) {
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
    },
    close: () => socket.close(),
  };
  readMessages(socket, { json: (message) => transport.onmessage?.(message as object) });
  socket.on("close", () => transport.onclose?.());
  return transport;
}
