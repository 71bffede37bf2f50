/**
 * Connects several clients to one browser, since a browser that was started here has a single pipe. The library uses
 * the pipe as if it were the only client. Every other client gets a DevTools session of its own (of the browser, or of
 * one target) and receives only the events of that session and of those that it opened from there.
 */
import type { DebuggingPipe } from "../pipe.ts";
import type { CdpMessage } from "./message.ts";
import { checkMessage } from "./rules.ts";
import type { Transport } from "../playwright.ts";

/** The library counts its ids from 1 and does not reach this one. */
const FIRST_ID = 1 << 30;
const LAST_ID = 0x7fff_ffff;
const UNKNOWN_SESSION = { code: -32_001, message: "Session with given id not found." };

interface Pending {
  /** The session that the request was sent to. */
  sessionId: string | undefined;
  settle(response: CdpMessage): void;
}

export class Multiplexer {
  readonly #pipe: DebuggingPipe;
  readonly #pending = new Map<number, Pending>();
  /** Maps a session id to the client that owns the session. */
  readonly #owners = new Map<string, Client>();
  #lastId = FIRST_ID;
  #controlSession: Promise<string> | undefined;
  #isClosed = false;

  constructor(pipe: DebuggingPipe) {
    this.#pipe = pipe;
    pipe.intercept = (message) => this.#route(message as CdpMessage);
    pipe.onexit = () => this.#end();
  }

  /** The pipe itself, for the client that may use it as if it were the only one. */
  get primary(): Transport {
    return this.#pipe;
  }

  /** Opens a client of the browser as a whole. */
  async openBrowser(): Promise<Transport> {
    const { sessionId } = await this.command("Target.attachToBrowserTarget");
    return this.#openClient(String(sessionId));
  }

  /** Opens a client of one target. Rejects with the browser's message if there is no such target. */
  async openTarget(targetId: string): Promise<Transport> {
    const { sessionId } = await this.command("Target.attachToTarget", { targetId, flatten: true });
    return this.#openClient(String(sessionId));
  }

  /** Sends a command in a session that no client uses. Rejects with the browser's message. */
  async command(method: string, params: object = {}): Promise<Record<string, unknown>> {
    return this.#request(await this.ready(), method, params);
  }

  /** Opens that session once and returns its id. Resolves with the browser's first response. */
  ready(): Promise<string> {
    this.#controlSession ??= this.#request(undefined, "Target.attachToBrowserTarget", {}).then(
      ({ sessionId }) => String(sessionId),
    );
    return this.#controlSession;
  }

  #request(
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

  #openClient(root: string): Transport {
    const client = new Client(root, {
      send: (message, settle) => this.#send(message, settle),
      owns: (sessionId) => this.#owners.get(sessionId) === client,
      close: () => this.#detach(client),
    });
    this.#owners.set(root, client);
    if (this.#isClosed) client.end();
    return client;
  }

  /** Detaches the client's root session, which ends all sessions that the client opened. */
  #detach(client: Client): void {
    for (const [sessionId, owner] of this.#owners) if (owner === client) this.#forget(sessionId);
    if (!this.#isClosed)
      this.command("Target.detachFromTarget", { sessionId: client.root }).catch(() => {});
  }

  /** Routes a message. Returns true for a message that is not for the library. */
  #route(message: CdpMessage): boolean {
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
    if (method === "Target.detachedFromTarget") this.#handleDetached(String(params?.["sessionId"]));
    owner?.deliverEvent(message);
    return owner !== undefined;
  }

  #handleDetached(sessionId: string): void {
    const owner = this.#owners.get(sessionId);
    if (owner === undefined) return;
    this.#forget(sessionId);
    if (owner.root === sessionId) owner.end();
  }

  /** Removes a session and drops its pending requests, which get no response any more. */
  #forget(sessionId: string): void {
    this.#owners.delete(sessionId);
    for (const [id, pending] of this.#pending)
      if (pending.sessionId === sessionId) this.#pending.delete(id);
  }

  #end(): void {
    this.#isClosed = true;
    const closedResponse = { error: { message: "Connection closed" } };
    for (const [id, { settle }] of this.#pending) {
      this.#pending.delete(id);
      settle({ ...closedResponse });
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

/** A client's connection. Messages without a session belong to the session `root`. */
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

  /** Sends a message to the browser. Every message gets a response, even a malformed one. */
  send(message: object): void {
    const { id, method, params, sessionId } = message as Record<keyof CdpMessage, unknown>;
    const ownSessionId =
      typeof sessionId === "string" && this.#options.owns(sessionId) ? sessionId : undefined;
    const refusal =
      checkMessage(id, method, params) ??
      (ownSessionId === sessionId ? undefined : UNKNOWN_SESSION);
    if (refusal !== undefined) {
      // Respond in the session of the request: a client that receives the error elsewhere treats the connection as
      // broken.
      this.#deliver({
        id: Number.isSafeInteger(id) ? (id as number) : undefined,
        sessionId: ownSessionId,
        error: refusal,
      });
      return;
    }
    const request = { method, params, sessionId: ownSessionId ?? this.root } as CdpMessage;
    const responseHead = { id, sessionId: ownSessionId } as CdpMessage;
    this.#options.send(request, ({ result, error }) =>
      this.#deliver({ ...responseHead, result, error }),
    );
  }

  deliverEvent(message: CdpMessage): void {
    const { method, params, sessionId } = message;
    this.#deliver({ method, params, sessionId: sessionId === this.root ? undefined : sessionId });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.close();
  }

  /** Called when the browser has ended the session. */
  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onclose?.();
  }

  #deliver(message: CdpMessage): void {
    if (!this.#isClosed) this.onmessage?.(message);
  }
}
