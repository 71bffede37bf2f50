/** Connections to the relay that fail it: how long it waits for an extension, who may take a place. The sockets are the test's. */
import { EventEmitter } from "node:events";
import * as assert from "uvu/assert";
import { Relay } from "../../../../plugins/browser/relay/relay.ts";
import { quietLog } from "../../../support/quiet-log.ts";
import { test } from "../../../support/suite.ts";
import { PATIENCE_MS, until } from "../../../support/until.ts";

// The relay's timers keep no process alive; without a socket nothing here does.
const awake = setInterval(() => {}, 1000);
test.after(() => clearInterval(awake));

const TAB = {
  tabId: 1,
  targetId: "T1",
  attachment: "a",
  title: "Mine",
  url: "https://example.com/",
};

/** The relay's end of a socket: `farewells` are the codes by which it was closed. A reset is answered at once. */
function open() {
  const questions: { id: number; ask: string }[] = [];
  const farewells: number[] = [];
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    send(text: string) {
      const question = JSON.parse(text);
      questions.push(question);
      if (question.ask === "reset")
        queueMicrotask(() => emitMessage({ id: question.id, result: TAB }));
    },
    close: (code: number) => void farewells.push(code),
    terminate() {},
  });
  const emitMessage = (message: object): void =>
    void socket.emit("message", JSON.stringify(message));
  const end = (): void => void socket.emit("close", 1006, Buffer.alloc(0));
  return { socket: socket as never, asked: questions, farewells, tell: emitMessage, end };
}

/** A relay to which an extension with one tab is connected. */
function connected(awayMs: { present: number; unknown: number }) {
  const relay = new Relay(quietLog(), awayMs);
  const join = (instance = "one") => {
    const extension = open();
    relay.adoptExtension(extension.socket, instance);
    extension.tell({ event: "hello", version: "1", userAgent: "Chrome/156.0.0.0", tabs: [TAB] });
    return extension;
  };
  return { relay, join, extension: join() };
}

test("an extension without a sign of its browser is soon considered gone", async () => {
  const { relay, extension } = connected({ present: PATIENCE_MS, unknown: 1 });
  extension.end();
  assert.ok(relay.isAway);
  assert.equal(relay.availableTabs(), []);
  await relay.waitWhileAway();
  assert.equal([relay.isAway, relay.allTabs().length], [false, 0]);
});

test("while its browser is known to run, its tabs are kept and commands wait", async () => {
  const { relay, extension, join } = connected({ present: PATIENCE_MS, unknown: 1 });
  relay.adoptPresence(open().socket);
  extension.end();
  const command = relay.command(TAB, undefined, "Page.enable", {});
  // Longer than an extension without one is waited for: its timer was there before.
  await new Promise((resolve) => setTimeout(resolve, 2));
  assert.ok(relay.isAway);
  const again = join();
  const { id } = await new Promise<{ id: number }>((resolve) =>
    setImmediate(() => resolve(again.asked.find(({ ask }) => ask === "command")!)),
  );
  again.tell({ id, result: { done: true } });
  assert.equal(await command, { done: true });
  assert.equal(relay.availableTabs(), [TAB]);
});

test("an unanswered command is sent again only if that is safe", async () => {
  const { relay, extension, join } = connected({ present: PATIENCE_MS, unknown: PATIENCE_MS });
  const script = "\n  (() => {\n  const module = {};\n  return module;\n})()";
  const evaluate = (expression: string) =>
    relay.command(TAB, undefined, "Runtime.evaluate", { expression });
  const [library, caller, press] = [
    evaluate(script),
    evaluate("n++"),
    relay.command(TAB, undefined, "Input.x", {}),
  ];
  const lost = Promise.allSettled([caller, press]);
  await until(
    "the questions",
    () => extension.asked.filter(({ ask }) => ask === "command").length === 3,
  );
  for (const { id } of extension.asked) extension.tell({ taken: id });
  extension.end();
  for (const result of await lost)
    assert.match(result.status === "rejected" && result.reason.message, "interrupted");
  const again = join();
  const { id } = await until("the question", () =>
    again.asked.find(({ ask }) => ask === "command"),
  );
  again.tell({ id, result: { done: true } });
  assert.equal(await library, { done: true });
  assert.is(again.asked.filter(({ ask }) => ask === "command").length, 1);
});

test("a browser that goes while its extension is away takes its tabs with it", async () => {
  const { relay, extension } = connected({ present: PATIENCE_MS, unknown: 1 });
  const presence = open();
  relay.adoptPresence(presence.socket);
  extension.end();
  const waiting = relay.waitWhileAway();
  presence.end();
  await waiting;
  assert.equal(relay.allTabs(), []);
});

test("a new connection of a page replaces the previous one, whose end is then ignored", async () => {
  const { relay, extension } = connected({ present: PATIENCE_MS, unknown: 1 });
  const [first, second] = [open(), open()];
  relay.adoptPresence(first.socket);
  relay.adoptPresence(second.socket);
  assert.equal(first.farewells, [1000]);
  extension.end();
  const waiting = relay.waitWhileAway().then(() => "gone");
  first.end();
  await new Promise((resolve) => setTimeout(resolve, 2));
  assert.ok(relay.isAway);
  second.end();
  assert.is(await waiting, "gone");
});

test("the wait is limited even for a running browser", async () => {
  const { relay, extension } = connected({ present: 1, unknown: PATIENCE_MS });
  relay.adoptPresence(open().socket);
  extension.end();
  await relay.waitWhileAway();
  assert.equal(relay.allTabs(), []);
});

test("the first of two accepted extensions stays connected", () => {
  const { relay, extension } = connected({ present: 1, unknown: 1 });
  const other = open();
  relay.adoptExtension(other.socket, "two");
  assert.equal(other.farewells, [4409]);
  assert.equal(extension.farewells, []);
  assert.equal(relay.availableTabs(), [TAB]);
});

test("a client that does not read its responses is disconnected", async () => {
  const { relay, extension } = connected({ present: 1, unknown: 1 });
  relay.reserveClient();
  const client = open();
  let cut = false;
  const slow = Object.assign(client.socket, {
    bufferedAmount: 0,
    terminate() {
      cut = true;
      client.end();
    },
  }) as { bufferedAmount: number };
  await relay.adoptClient(client.socket);
  client.tell({ id: 1, method: "Target.setAutoAttach", params: { autoAttach: true } });
  const event = { event: "cdp", tabId: TAB.tabId, method: "Network.dataReceived", params: {} };
  extension.tell(event);
  assert.not(cut);
  slow.bufferedAmount = 1 << 30;
  extension.tell(event);
  assert.ok(cut);
  assert.not(relay.hasClient);
});

test.run();
