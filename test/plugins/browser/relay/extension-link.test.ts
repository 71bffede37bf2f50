/** Both ends of the extension's socket: the relay's, and the worker's with a browser that is played. */
import { EventEmitter } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type ExtensionRequest, ExtensionLink } from "../../../../plugins/browser/relay/link.ts";

// The extension is plain JavaScript, without types.
const workerLink = join(import.meta.dirname, "../../../../plugins/browser/extension/link.js");
const { createLink } = await import(pathToFileURL(workerLink).href);

interface Sent {
  id?: number;
  taken?: number;
  event?: string;
  result?: unknown;
}

/** The relay's socket: its messages are stored, or passed to `onSend`. */
function relaySocket(onSend: (message: Sent & { ask?: string }) => void = () => {}) {
  const socket = new EventEmitter() as EventEmitter & Record<string, unknown>;
  socket["send"] = (text: string) => onSend(JSON.parse(text));
  const tell = (message: object): void => void socket.emit("message", JSON.stringify(message));
  return { socket, tell };
}

// The relay's timers keep no process alive; without a socket nothing here does.
const awake = setInterval(() => {}, 1000);
test.after(() => clearInterval(awake));

const idle = { onEvent() {}, onClose() {} };

test("an unanswered command times out", async () => {
  const { socket } = relaySocket();
  const link = new ExtensionLink(socket as never, idle, { timeoutMs: 1 });
  const questions: ExtensionRequest[] = [
    { ask: "reset", tabId: 1 },
    { ask: "list" },
    { ask: "command", tabId: 1, method: "Page.enable", params: {} },
  ];
  for (const question of questions) {
    const failure = await link.request(question).catch((error: Error) => error);
    assert.match((failure as Error).message, "did not respond", question.ask);
  }
  socket.emit("close");
});

test("only an accepted command may take long", async () => {
  const { socket, tell } = relaySocket(({ id }) => tell({ taken: id }));
  const link = new ExtensionLink(socket as never, idle, { timeoutMs: 1 });
  const command = link.request({
    ask: "command",
    tabId: 1,
    method: "Runtime.evaluate",
    params: {},
  });
  const reset = await link.request({ ask: "reset", tabId: 1 }).catch((error: Error) => error);
  assert.match((reset as Error).message, "did not respond");
  tell({ id: 1, result: { value: 7 } });
  assert.equal(await command, { value: 7 });
  socket.emit("close");
});

/** The worker's side in a browser of which only the socket and the settings are there. */
function startWorker(hello: () => Promise<object>) {
  const sockets: PlayedSocket[] = [];
  class PlayedSocket {
    static readonly OPEN = 1;
    readyState = 0;
    sent: Sent[] = [];
    onopen?: () => void;
    onclose?: (event: { reason: string }) => void;
    onmessage?: (event: { data: string }) => void;
    constructor() {
      sockets.push(this);
      queueMicrotask(() => {
        this.readyState = 1;
        this.onopen?.();
      });
    }
    send(text: string): void {
      if (this.readyState === 1) this.sent.push(JSON.parse(text));
    }
    close(): void {
      this.readyState = 2;
    }
    end(): void {
      this.readyState = 3;
      this.onclose?.({ reason: "" });
    }
  }
  const was = {
    chrome: (globalThis as any).chrome,
    fetch: globalThis.fetch,
    WebSocket: globalThis.WebSocket,
  };
  Object.assign(globalThis, {
    WebSocket: PlayedSocket,
    fetch: async () => Response.json({ ok: true }),
    chrome: { storage: { local: { get: async () => ({ port: 1, token: "t", instance: "one" }) } } },
  });
  const states: boolean[] = [];
  const link = createLink({
    hello,
    execute: async ({ ask }: { ask: string }) => ({ ask }),
    isNeeded: () => false,
    onState: (open: boolean) => states.push(open),
  });
  return { link, sockets, states, stop: () => Object.assign(globalThis, was) };
}

test("the worker receives commands while it prepares its greeting", async () => {
  let greet = (_: object): void => {};
  let notifyRequest = (): void => {};
  const making = new Promise<void>((resolve) => {
    notifyRequest = resolve;
  });
  const worker = startWorker(() => {
    notifyRequest();
    return new Promise((resolve) => {
      greet = resolve;
    });
  });
  try {
    const connecting = worker.link.connect();
    await making;
    const [socket] = worker.sockets;
    socket!.onmessage?.({ data: JSON.stringify({ id: 4, ask: "list" }) });
    greet({ tabs: [] });
    await connecting;
    assert.ok(worker.link.isOpen);
    assert.equal(
      socket!.sent.filter(({ event }) => event === undefined),
      [{ taken: 4 }, { id: 4, result: { ask: "list" } }],
    );
  } finally {
    worker.stop();
  }
});

test("a socket that closes during the greeting is discarded", async () => {
  let notifyRequest = (): void => {};
  const making = new Promise<void>((resolve) => {
    notifyRequest = resolve;
  });
  const worker = startWorker(() => {
    notifyRequest();
    return new Promise(() => {});
  });
  try {
    const connecting = worker.link.connect().catch((error: Error) => error);
    await making;
    worker.sockets[0]!.end();
    assert.instance(await connecting, Error);
    assert.not.ok(worker.link.isOpen);
    assert.equal(worker.states, [false]);
    void worker.link.connect().catch(() => {});
    await new Promise<void>((resolve) => setImmediate(resolve));
    assert.is(worker.sockets.length, 2, "the next one is opened");
  } finally {
    worker.stop();
  }
});

test("a closing socket is not reused: the next request opens a new one", async () => {
  const worker = startWorker(async () => ({ tabs: [] }));
  try {
    await worker.link.connect();
    worker.link.close();
    assert.not.ok(worker.link.isOpen);
    await worker.link.connect();
    worker.link.send({ event: "attached" });
    const [old, next] = worker.sockets;
    old!.end();
    assert.ok(worker.link.isOpen);
    assert.equal(
      next?.sent.map(({ event }) => event),
      ["hello", "attached"],
    );
    assert.equal(worker.states, [true, true]);
  } finally {
    worker.stop();
  }
});

test.run();
