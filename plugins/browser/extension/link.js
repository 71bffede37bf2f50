// The socket to the relay. It is open while tabs are attached, and reconnects by itself as long as there are any.

import { checkPairing, readSettings, socketOf } from "./settings.js";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** The maximum number of messages that are queued while the socket is disconnected. */
const MAX_QUEUED = 2000;

/**
 * `hello()` returns the first message, `execute(request)` executes a request of the relay, `isNeeded()` returns whether
 * the socket should reconnect, and `onState(open, why)` is called when it opens and closes.
 */
export const createLink = (handlers) => new Link(handlers);

class Link {
  #handlers;
  #socket;
  #opening;
  #timer;
  #waitMs = FIRST_RETRY_MS;
  #queued = [];
  #downSince = Date.now();

  constructor(handlers) {
    this.#handlers = handlers;
  }

  /** True if the socket is open; a closing one is not. */
  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** The time in ms since the socket was lost; 0 while it exists. */
  get downMs() {
    return this.#socket === undefined ? Date.now() - this.#downSince : 0;
  }

  /** Opens the socket, or joins an opening in progress. Rejects with an Error whose message is written for the user. */
  async connect() {
    if (this.isOpen) return;
    this.#opening ??= this.#open()
      .catch((error) => {
        this.#handlers.onState(false, error.message);
        this.#retry();
        throw error;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    await this.#opening;
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.isOpen) this.#socket.send(text);
    else if (this.#handlers.isNeeded() && this.#queued.length < MAX_QUEUED) this.#queued.push(text);
  }

  close() {
    clearTimeout(this.#timer);
    this.#queued = [];
    this.#socket?.close();
  }

  async #open() {
    const settings = await readSettings();
    await checkPairing(settings);
    const { url, protocols } = await socketOf(settings);
    const socket = new WebSocket(url, protocols);
    // Register the handlers before anything else, so that neither messages nor the close event are lost while the
    // greeting is built.
    socket.onmessage = ({ data }) => void this.#handleRequest(socket, JSON.parse(data));
    const opened = new Promise((resolve) => {
      socket.onopen = resolve;
    });
    const closed = new Promise((_, reject) => {
      socket.onclose = ({ reason }) => {
        if (this.#socket === socket) this.#handleDisconnect(reason);
        reject(new Error(reason || "The gateway refused the connection."));
      };
    });
    closed.catch(() => {});
    await Promise.race([opened, closed]);
    // The relay receives the greeting first and then the queued messages, some of which the greeting already includes.
    const greeting = await Promise.race([this.#handlers.hello(), closed]);
    socket.send(JSON.stringify({ event: "hello", ...greeting }));
    this.#socket = socket;
    this.#waitMs = FIRST_RETRY_MS;
    for (const text of this.#queued.splice(0)) socket.send(text);
    this.#handlers.onState(true);
  }

  #handleDisconnect(reason) {
    this.#socket = undefined;
    this.#downSince = Date.now();
    this.#handlers.onState(false, reason || undefined);
    this.#retry();
  }

  async #handleRequest(socket, { id, ...request }) {
    if (id === undefined) return;
    // The relay repeats a request that a worker had not accepted when it died; an accepted one may have been executed.
    socket.send(JSON.stringify({ taken: id }));
    let response;
    try {
      response = { id, result: (await this.#handlers.execute(request)) ?? {} };
    } catch (error) {
      response = { id, error: error?.message ?? String(error) };
    }
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(response));
  }

  #retry() {
    clearTimeout(this.#timer);
    if (!this.#handlers.isNeeded()) return;
    this.#timer = setTimeout(() => this.connect().catch(() => {}), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, MAX_RETRY_MS);
  }
}
