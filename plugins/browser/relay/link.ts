/** The relay's side of the extension's socket: questions with answers, events, and a heartbeat. */
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
/** A tab as the extension reports it. `attachment` is new after each attachment of the debugger. */
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

/** A tab in an answer of the extension's. */
export const checkTab = compile(AttachedTab);
/** Those that it lists; null for one that has just gone. */
export const checkTabs = compile(Type.Array(Type.Union([AttachedTab, Type.Null()])));

/** What the extension can be asked for. */
export type Ask =
  | { ask: "ping" | "list" | "open" }
  | { ask: "close" | "focus" | "reset"; tabId: number }
  | { ask: "command"; tabId: number; sessionId?: string; method: string; params: object };

/** The extension went, and can be asked again: it had not taken the question, or has no harm from doing it twice. */
export class NotTaken extends Error {}

/**
 * What the automation library puts into a page before it asks it anything, and then calls by reference. Where that fails
 * once, it asks no more: the page could not be worked with until it is loaded again.
 */
const LIBRARY_SCRIPT = /^\s*\(\(\) => \{\s*const module = \{\};/;

function isRepeatable(request: Ask): boolean {
  if (request.ask !== "command") return request.ask === "list";
  const { expression } = request.params as { expression?: unknown };
  return (
    request.method === "Runtime.evaluate" &&
    typeof expression === "string" &&
    LIBRARY_SCRIPT.test(expression)
  );
}

interface Waiting {
  /** A caller that asks again may cause it to be done twice. */
  taken: boolean;
  isRepeatable: boolean;
  /** A command may take as long as the page does, once the extension has it; everything else is done soon. */
  isCommand: boolean;
  timer: NodeJS.Timeout;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** The browser ends a worker after 30 s without a message; a socket that misses one beat is dead. */
const BEAT_MS = 15_000;
/** For an answer; for a command, until the extension has taken it. */
const ASK_MS = 15_000;

export class ExtensionLink {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #beat: NodeJS.Timeout;
  readonly #askMs: number;
  #id = 0;

  constructor(
    socket: WebSocket,
    handlers: { onEvent(event: ExtensionEvent): void; onClose(): void },
    { askMs = ASK_MS }: { askMs?: number } = {},
  ) {
    this.#socket = socket;
    this.#askMs = askMs;
    this.#beat = setInterval(() => this.#ping(), BEAT_MS).unref();
    readMessages(socket, {
      json: (message) => this.#take(checkMessage.parse(message), handlers.onEvent),
    });
    socket.on("close", () => {
      clearInterval(this.#beat);
      const interrupted = new Error("The extension was interrupted by its browser: try again.");
      for (const [id, { taken, isRepeatable }] of this.#waiting)
        this.#settled(id)?.reject(taken && !isRepeatable ? interrupted : new NotTaken());
      handlers.onClose();
    });
  }

  /** The answer. Rejects with `NotTaken` where the extension went and can be asked again, else with its words. */
  ask<T = Record<string, unknown>>(request: Ask): Promise<T> {
    const id = ++this.#id;
    return new Promise<T>((resolve, reject) => {
      const late = (): void =>
        this.#settled(id)?.reject(new Error("The extension did not answer in time."));
      this.#waiting.set(id, {
        taken: false,
        isRepeatable: isRepeatable(request),
        isCommand: request.ask === "command",
        timer: setTimeout(late, this.#askMs).unref(),
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#socket.send(JSON.stringify({ id, ...request }), (error) => {
        if (error) this.#settled(id)?.reject(new NotTaken());
      });
    });
  }

  close(code: number, reason: string): void {
    closeSocket(this.#socket, code, reason);
  }

  #take(message: ExtensionMessage, onEvent: (event: ExtensionEvent) => void): void {
    if ("event" in message) onEvent(message);
    else if ("taken" in message) this.#taken(message.taken);
    else this.#settle(message);
  }

  /** Takes a question off the list; undefined where it was settled before. */
  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    clearTimeout(waiting?.timer);
    this.#waiting.delete(id);
    return waiting;
  }

  #taken(id: number): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    waiting.taken = true;
    if (waiting.isCommand) clearTimeout(waiting.timer);
  }

  #settle({ id, result, error }: { id: number; result?: unknown; error?: string }): void {
    const waiting = this.#settled(id);
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
