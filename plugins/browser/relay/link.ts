/** The relay's side of the extension's socket: requests with responses, events, and a heartbeat. */
import { compile, type Static, Type } from "portico";
import { closeSocket, readMessages, type WebSocket } from "../net/web-socket.ts";

const Text = Type.String();
const TabId = Type.Integer({ minimum: 0 });

const AttachedTab = Type.Object({
  tabId: TabId,
  targetId: Text,
  attachment: Text,
  title: Text,
  url: Text,
});
/** A tab as the extension reports it. `attachment` changes each time the debugger is attached. */
export type AttachedTab = Static<typeof AttachedTab>;

const Hello = Type.Object({ version: Text, userAgent: Text, tabs: Type.Array(AttachedTab) });
export type Hello = Static<typeof Hello>;

const ExtensionEvent = Type.Union([
  Type.Object({
    event: Type.Literal("hello"),
    version: Text,
    userAgent: Text,
    tabs: Type.Array(AttachedTab),
  }),
  Type.Object({ event: Type.Literal("attached"), tab: AttachedTab }),
  Type.Object({ event: Type.Literal("detached"), tabId: TabId, reason: Text }),
  Type.Object({
    event: Type.Literal("cdp"),
    tabId: TabId,
    sessionId: Type.Optional(Text),
    method: Text,
    params: Type.Optional(Type.Record(Text, Type.Unknown())),
  }),
]);
export type ExtensionEvent = Static<typeof ExtensionEvent>;

const checkMessage = compile(
  Type.Union([
    ExtensionEvent,
    Type.Object({ taken: Type.Integer() }),
    Type.Object({
      id: Type.Integer(),
      result: Type.Optional(Type.Unknown()),
      error: Type.Optional(Text),
    }),
  ]),
);
type ExtensionMessage = ReturnType<typeof checkMessage.parse>;

/** Validates a tab in a response of the extension. */
export const checkTab = compile(AttachedTab);
/** Validates the list of tabs; `null` stands for a tab that has just been closed. */
export const checkTabs = compile(Type.Array(Type.Union([AttachedTab, Type.Null()])));

/** The requests that the extension accepts. */
export type ExtensionRequest =
  | { ask: "ping" | "list" | "open" }
  | { ask: "close" | "focus" | "reset"; tabId: number }
  | { ask: "command"; tabId: number; sessionId?: string; method: string; params: object };

/**
 * The extension disconnected, and the request may be sent again: it was not accepted yet, or repeating it does no harm.
 */
export class NotAcceptedError extends Error {}

/**
 * Matches the script that the automation library injects into a page before its first request and then calls by
 * reference. If the injection fails once, the library does not retry it, and the page is unusable until it is reloaded.
 */
const LIBRARY_SCRIPT = /^\s*\(\(\) => \{\s*const module = \{\};/;

function isRepeatable(request: ExtensionRequest): boolean {
  if (request.ask !== "command") return request.ask === "list";
  const { expression } = request.params as { expression?: unknown };
  return (
    request.method === "Runtime.evaluate" &&
    typeof expression === "string" &&
    LIBRARY_SCRIPT.test(expression)
  );
}

interface PendingRequest {
  /** The extension has accepted the request, so repeating it might execute it twice. */
  isAccepted: boolean;
  isRepeatable: boolean;
  /** An accepted command may take as long as the page needs. All other requests finish soon. */
  isCommand: boolean;
  timer: NodeJS.Timeout;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * The interval of pings in ms. The browser ends a worker after 30 s without a message; a socket that misses one ping is
 * dead.
 */
const PING_INTERVAL_MS = 15_000;
/** The timeout in ms of a response; of a command, until the extension has accepted it. */
const REQUEST_TIMEOUT_MS = 15_000;

export class ExtensionLink {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #pingTimer: NodeJS.Timeout;
  readonly #timeoutMs: number;
  #id = 0;

  constructor(
    socket: WebSocket,
    handlers: { onEvent(event: ExtensionEvent): void; onClose(): void },
    { timeoutMs = REQUEST_TIMEOUT_MS }: { timeoutMs?: number } = {},
  ) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
    this.#pingTimer = setInterval(() => this.#ping(), PING_INTERVAL_MS).unref();
    readMessages(socket, {
      json: (message) => this.#dispatch(checkMessage.parse(message), handlers.onEvent),
    });
    socket.on("close", () => {
      clearInterval(this.#pingTimer);
      const interrupted = new Error("The browser interrupted the extension. Try again.");
      for (const [id, { isAccepted, isRepeatable }] of this.#pending)
        this.#removePending(id)?.reject(
          isAccepted && !isRepeatable ? interrupted : new NotAcceptedError(),
        );
      handlers.onClose();
    });
  }

  /**
   * Sends a request and returns the response. Rejects with `NotAcceptedError` if the extension disconnected and the
   * request may be repeated, else with the extension's message.
   */
  request<T = Record<string, unknown>>(request: ExtensionRequest): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      const onTimeout = (): void =>
        this.#removePending(id)?.reject(new Error("The extension did not respond in time."));
      this.#pending.set(id, {
        isAccepted: false,
        isRepeatable: isRepeatable(request),
        isCommand: request.ask === "command",
        timer: setTimeout(onTimeout, this.#timeoutMs).unref(),
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#socket.send(JSON.stringify({ id, ...request }), (error) => {
        if (error) this.#removePending(id)?.reject(new NotAcceptedError());
      });
    });
  }

  close(code: number, reason: string): void {
    closeSocket(this.#socket, code, reason);
  }

  #dispatch(message: ExtensionMessage, onEvent: (event: ExtensionEvent) => void): void {
    if ("event" in message) onEvent(message);
    else if ("taken" in message) this.#markAccepted(message.taken);
    else this.#settle(message);
  }

  /** Removes a pending request and returns it, or `undefined` if it was settled before. */
  #removePending(id: number): PendingRequest | undefined {
    const entry = this.#pending.get(id);
    clearTimeout(entry?.timer);
    this.#pending.delete(id);
    return entry;
  }

  #markAccepted(id: number): void {
    const entry = this.#pending.get(id);
    if (entry === undefined) return;
    entry.isAccepted = true;
    if (entry.isCommand) clearTimeout(entry.timer);
  }

  #settle({ id, result, error }: { id: number; result?: unknown; error?: string }): void {
    const entry = this.#removePending(id);
    if (error === undefined) entry?.resolve(result);
    else entry?.reject(new Error(error));
  }

  #ping(): void {
    const timeout = setTimeout(() => this.#socket.terminate(), PING_INTERVAL_MS - 1000).unref();
    this.request({ ask: "ping" }).then(
      () => clearTimeout(timeout),
      () => clearTimeout(timeout),
    );
  }
}
