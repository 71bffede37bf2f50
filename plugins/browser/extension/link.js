// The socket to the relay. It is open while tabs are attached, and comes back by itself as long as there are any.

import { checkPairing, readSettings, socketOf } from "./settings.js";

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 30_000;
/** What happens in the tabs while the socket is away is kept, up to this many messages. */
const MOST_QUEUED = 2000;

/**
 * `hello()` makes the first message, `answer(request)` does what the relay asks for, `wanted()` says whether the
 * socket should come back, `onState(open, why)` is told when it opens and closes.
 */
export function createLink({ hello, answer, wanted, onState }) {
  let socket;
  let opening;
  let timer;
  let waitMs = FIRST_WAIT_MS;
  let queued = [];
  let downSince = Date.now();

  /** One that is still closing is none. */
  const isOpen = () => socket?.readyState === WebSocket.OPEN;

  async function open() {
    const settings = await readSettings();
    await checkPairing(settings);
    const { url, protocols } = await socketOf(settings);
    const made = new WebSocket(url, protocols);
    // All from the start: what came while the greeting is made would be lost, its end too.
    made.onmessage = ({ data }) => void take(made, JSON.parse(data));
    const closed = new Promise((_, reject) => {
      made.onclose = ({ reason }) => {
        if (socket === made) lost(reason);
        reject(new Error(reason || "The gateway refused the connection."));
      };
    });
    closed.catch(() => {});
    await Promise.race([new Promise((resolve) => (made.onopen = resolve)), closed]);
    // What was queued lies before the greeting in time, and tabs may have changed since: the relay hears it in order.
    made.send(JSON.stringify({ event: "hello", ...(await Promise.race([hello(), closed])) }));
    socket = made;
    waitMs = FIRST_WAIT_MS;
    for (const text of queued.splice(0)) made.send(text);
    onState(true);
  }

  function lost(reason) {
    socket = undefined;
    downSince = Date.now();
    onState(false, reason || undefined);
    retry();
  }

  async function take(from, { id, ...request }) {
    if (id === undefined) return;
    // What a worker had not taken when it died is asked again; what it had may have been done.
    from.send(JSON.stringify({ taken: id }));
    let reply;
    try {
      reply = { id, result: (await answer(request)) ?? {} };
    } catch (error) {
      reply = { id, error: error?.message ?? String(error) };
    }
    if (from.readyState === WebSocket.OPEN) from.send(JSON.stringify(reply));
  }

  function retry() {
    clearTimeout(timer);
    if (!wanted()) return;
    timer = setTimeout(() => connect().catch(() => {}), waitMs);
    waitMs = Math.min(waitMs * 2, LAST_WAIT_MS);
  }

  /** Opens the socket, or joins an opening that is under way. Rejects with words for the person. */
  async function connect() {
    if (isOpen()) return;
    opening ??= open()
      .catch((error) => {
        onState(false, error.message);
        retry();
        throw error;
      })
      .finally(() => {
        opening = undefined;
      });
    await opening;
  }

  return {
    connect,
    /** How long the socket has been away, ms; 0 while it is there. */
    get downMs() {
      return socket === undefined ? Date.now() - downSince : 0;
    },
    get isOpen() {
      return isOpen();
    },
    send(message) {
      const text = JSON.stringify(message);
      if (isOpen()) socket.send(text);
      else if (wanted()) queued = queued.length < MOST_QUEUED ? [...queued, text] : queued;
    },
    close() {
      clearTimeout(timer);
      queued = [];
      socket?.close();
    },
  };
}
