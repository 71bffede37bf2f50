/** The relay's side of the extension's socket: questions with answers, events, and a heartbeat. */
import { closeSocket, type WebSocket } from "portico";

/** A tab as the extension tells of it. `attachment` is new whenever the debugger was attached anew. */
export interface AttachedTab {
  tabId: number;
  targetId: string;
  attachment: string;
  title: string;
  url: string;
}

export interface Hello {
  version: string;
  userAgent: string;
  tabs: AttachedTab[];
}

export type ExtensionEvent =
  | ({ event: "hello" } & Hello)
  | { event: "attached"; tab: AttachedTab }
  | { event: "detached"; tabId: number; reason: string }
  | { event: "cdp"; tabId: number; sessionId?: string; method: string; params?: Record<string, unknown> };

/** What the extension can be asked for. */
export type Ask =
  | { ask: "ping" | "list" | "open" }
  | { ask: "close" | "focus" | "reset"; tabId: number }
  | { ask: "command"; tabId: number; sessionId?: string; method: string; params: object };

/** The extension was gone before it had taken the question: it can be asked again. */
export class NotTaken extends Error {}

interface Waiting {
  taken: boolean;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The browser ends a worker after 30 s without a message; a socket that misses one beat is dead. */
const BEAT_MS = 15_000;

export class ExtensionLink {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #beat: NodeJS.Timeout;
  #id = 0;

  constructor(socket: WebSocket, handlers: { onEvent(event: ExtensionEvent): void; onClose(): void }) {
    this.#socket = socket;
    this.#beat = setInterval(() => this.#ping(), BEAT_MS).unref();
    socket.on("message", (data) => {
      const message = JSON.parse(String(data)) as
        | ExtensionEvent
        | { taken: number }
        | { id: number; result?: unknown; error?: string };
      if ("event" in message) handlers.onEvent(message);
      else if ("taken" in message) this.#taken(message.taken);
      else this.#settle(message);
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      clearInterval(this.#beat);
      for (const { taken, reject } of this.#waiting.values())
        reject(taken ? new Error("The extension was interrupted by its browser: try again.") : new NotTaken());
      this.#waiting.clear();
      handlers.onClose();
    });
  }

  ask<T = Record<string, unknown>>(request: Ask): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { taken: false, resolve: resolve as (value: unknown) => void, reject });
      this.#socket.send(JSON.stringify({ id, ...request }), (error) => {
        if (error && this.#waiting.delete(id)) reject(new NotTaken());
      });
    });
  }

  close(code: number, reason: string): void {
    closeSocket(this.#socket, code, reason);
  }

  #taken(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.taken = true;
  }

  #settle({ id, result, error }: { id: number; result?: unknown; error?: string }): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }

  #ping(): void {
    const late = setTimeout(() => this.#socket.terminate(), BEAT_MS - 1000).unref();
    this.ask({ ask: "ping" }).then(
      () => clearTimeout(late),
      () => clearTimeout(late),
    );
  }
}
