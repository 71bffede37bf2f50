// The socket to the relay. It is open while tabs are attached, and comes back by itself as long as there are any.

import { checkPairing, readSettings, socketOf } from "./settings.js";

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 30_000;
/** What happens in the tabs while the socket is away is kept, up to this many messages. */
const MOST_QUEUED = 2000;

/**
 * `hello()` makes the first message, `answer(request)` does what the relay asks for, `wanted()` says whether the
 * socket should come back, `onState(open, why)` is called when it opens and closes.
 */
export const createLink = (handlers) => new Link(handlers);

class Link {
  #handlers;
  #socket;
  #opening;
  #timer;
  #waitMs = FIRST_WAIT_MS;
  #queued = [];
  #downSince = Date.now();

  constructor(handlers) {
    this.#handlers = handlers;
  }

  /** One that is still closing is none. */
  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** How long the socket has been away, ms; 0 while it is there. */
  get downMs() {
    return this.#socket === undefined ? Date.now() - this.#downSince : 0;
  }

  /** Opens the socket, or joins an opening that is under way. Rejects with words for the person. */
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
    else if (this.#handlers.wanted() && this.#queued.length < MOST_QUEUED) this.#queued.push(text);
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
    // All from the start: what came while the greeting is made would be lost, its end too.
    socket.onmessage = ({ data }) => void this.#take(socket, JSON.parse(data));
    const opened = new Promise((resolve) => {
      socket.onopen = resolve;
    });
    const closed = new Promise((_, reject) => {
      socket.onclose = ({ reason }) => {
        if (this.#socket === socket) this.#lost(reason);
        reject(new Error(reason || "The gateway refused the connection."));
      };
    });
    closed.catch(() => {});
    await Promise.race([opened, closed]);
    // What was queued lies before the greeting in time, and tabs may have changed since: the relay hears it in order.
    const greeting = await Promise.race([this.#handlers.hello(), closed]);
    socket.send(JSON.stringify({ event: "hello", ...greeting }));
    this.#socket = socket;
    this.#waitMs = FIRST_WAIT_MS;
    for (const text of this.#queued.splice(0)) socket.send(text);
    this.#handlers.onState(true);
  }

  #lost(reason) {
    this.#socket = undefined;
    this.#downSince = Date.now();
    this.#handlers.onState(false, reason || undefined);
    this.#retry();
  }

  async #take(from, { id, ...request }) {
    if (id === undefined) return;
    // What a worker had not taken when it died is asked again; what it had may have been done.
    from.send(JSON.stringify({ taken: id }));
    let reply;
    try {
      reply = { id, result: (await this.#handlers.answer(request)) ?? {} };
    } catch (error) {
      reply = { id, error: error?.message ?? String(error) };
    }
    if (from.readyState === WebSocket.OPEN) from.send(JSON.stringify(reply));
  }

  #retry() {
    clearTimeout(this.#timer);
    if (!this.#handlers.wanted()) return;
    this.#timer = setTimeout(() => this.connect().catch(() => {}), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LAST_WAIT_MS);
  }
}
