/**
 * One browser, several clients: a browser that was started here has a single pipe. The library speaks on it as if it
 * were alone; every other client gets a DevTools session of its own (of the browser, or of one target) and receives only
 * events of that session, and of those that it has opened from there.
 */
import type { DebuggingPipe } from "../pipe.ts";
import type { CdpMessage } from "./message.ts";
import { refusalOf } from "./rules.ts";
import type { Transport } from "../playwright.ts";

/** The library counts from 1, and does not come this far. */
const FIRST_ID = 1 << 30;
const LAST_ID = 0x7fff_ffff;
const UNKNOWN_SESSION = { code: -32_001, message: "Session with given id not found." };

interface Pending {
  /** The session that was asked. */
  sessionId: string | undefined;
  settle(response: CdpMessage): void;
}

export class Multiplexer {
  readonly #pipe: DebuggingPipe;
  readonly #pending = new Map<number, Pending>();
  /** Session → the client that it belongs to. */
  readonly #owners = new Map<string, Client>();
  #lastId = FIRST_ID;
  #control: Promise<string> | undefined;
  #isClosed = false;

  constructor(pipe: DebuggingPipe) {
    this.#pipe = pipe;
    pipe.intercept = (message) => this.#take(message as CdpMessage);
    pipe.ended = () => this.#end();
  }

  /** The pipe itself, for the one client that may use it as if it were alone. */
  get primary(): Transport {
    return this.#pipe;
  }

  /** A client of the browser as a whole. */
  async browser(): Promise<Transport> {
    const { sessionId } = await this.command("Target.attachToBrowserTarget");
    return this.#open(String(sessionId));
  }

  /** A client of one target. Rejects with the browser's words where there is no such target. */
  async target(targetId: string): Promise<Transport> {
    const { sessionId } = await this.command("Target.attachToTarget", { targetId, flatten: true });
    return this.#open(String(sessionId));
  }

  /** Asks the browser in a session that no client has. Rejects with the browser's words. */
  async command(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#ask(await this.ready(), method, params);
  }

  /** The session for that, with the browser's first response. */
  ready(): Promise<string> {
    this.#control ??= this.#ask(undefined, "Target.attachToBrowserTarget", {}).then(
      ({ sessionId }) => String(sessionId),
    );
    return this.#control;
  }

  #ask(
    sessionId: string | undefined,
    method: string,
    params: object,
  ): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      this.#send(
        { method, params: params as Record<string, unknown>, sessionId },
        ({ result, error }) => {
          if (error === undefined) resolve(result ?? {});
          else reject(new Error(error.message));
        },
      );
    });
  }

  #send(message: CdpMessage, settle: Pending["settle"]): void {
    if (this.#isClosed) {
      settle({ error: { message: "Connection closed" } });
      return;
    }
    this.#lastId = this.#lastId === LAST_ID ? FIRST_ID : this.#lastId + 1;
    const id = this.#lastId;
    this.#pending.set(id, { sessionId: message.sessionId, settle });
    this.#pipe.send({ ...message, id });
  }

  #open(root: string): Transport {
    const client = new Client(root, {
      send: (message, settle) => this.#send(message, settle),
      owns: (sessionId) => this.#owners.get(sessionId) === client,
      close: () => this.#leave(client),
    });
    this.#owners.set(root, client);
    if (this.#isClosed) client.end();
    return client;
  }

  /** Everything that the client has opened goes with its first session. */
  #leave(client: Client): void {
    for (const [sessionId, owner] of this.#owners) if (owner === client) this.#forget(sessionId);
    if (!this.#isClosed)
      this.command("Target.detachFromTarget", { sessionId: client.root }).catch(() => {});
  }

  /** True for a message that is not the library's. */
  #take(message: CdpMessage): boolean {
    const { id, sessionId, method, params } = message;
    if (id !== undefined) {
      if (id < FIRST_ID) return false;
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.settle(message);
      return true;
    }
    if (method === undefined) return true;
    const owner = sessionId === undefined ? undefined : this.#owners.get(sessionId);
    if (method === "Target.attachedToTarget" && owner !== undefined)
      this.#owners.set(String(params?.["sessionId"]), owner);
    if (method === "Target.detachedFromTarget") this.#detached(String(params?.["sessionId"]));
    owner?.event(message);
    return owner !== undefined;
  }

  #detached(sessionId: string): void {
    const owner = this.#owners.get(sessionId);
    if (owner === undefined) return;
    this.#forget(sessionId);
    if (owner.root === sessionId) owner.end();
  }

  /** Nothing that was asked in the session is answered any more. */
  #forget(sessionId: string): void {
    this.#owners.delete(sessionId);
    for (const [id, pending] of this.#pending)
      if (pending.sessionId === sessionId) this.#pending.delete(id);
  }

  #end(): void {
    this.#isClosed = true;
    const gone = { error: { message: "Connection closed" } };
    for (const [id, { settle }] of this.#pending) {
      this.#pending.delete(id);
      settle({ ...gone });
    }
    for (const client of new Set(this.#owners.values())) client.end();
    this.#owners.clear();
  }
}

interface ClientOptions {
  send(message: CdpMessage, settle: Pending["settle"]): void;
  owns(sessionId: string): boolean;
  close(): void;
}

/** To its user a connection of its own, whose messages without a session are those of `root`. */
class Client implements Transport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly root: string;
  readonly #options: ClientOptions;
  #isClosed = false;

  constructor(root: string, options: ClientOptions) {
    this.root = root;
    this.#options = options;
  }

  /** Every message gets a response, one that is none too. */
  send(message: object): void {
    const { id, method, params, sessionId } = message as Record<keyof CdpMessage, unknown>;
    const own =
      typeof sessionId === "string" && this.#options.owns(sessionId) ? sessionId : undefined;
    const refusal =
      refusalOf(id, method, params) ?? (own === sessionId ? undefined : UNKNOWN_SESSION);
    if (refusal !== undefined) {
      // In the session that was asked: a client that hears of it elsewhere takes the connection for broken.
      this.#deliver({
        id: Number.isSafeInteger(id) ? (id as number) : undefined,
        sessionId: own,
        error: refusal,
      });
      return;
    }
    const request = { method, params, sessionId: own ?? this.root } as CdpMessage;
    const asked = { id, sessionId: own } as CdpMessage;
    this.#options.send(request, ({ result, error }) => this.#deliver({ ...asked, result, error }));
  }

  event(message: CdpMessage): void {
    const { method, params, sessionId } = message;
    this.#deliver({ method, params, sessionId: sessionId === this.root ? undefined : sessionId });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.close();
  }

  /** The browser has ended the session. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  #deliver(message: CdpMessage): void {
    if (!this.#isClosed) this.onmessage?.(message);
  }
}
