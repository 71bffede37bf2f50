/** Messages between gateways when one of them or its store ends. */
import * as assert from "uvu/assert";
import { Board } from "../../../plugins/cluster/board.ts";
import type { Message } from "../../../plugins/cluster/messages.ts";
import type { Store } from "../../../plugins/store/types.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { temporaryStore } from "../store/temporary-store.ts";

const signal = (data: unknown): Message => ({ kind: "signal", name: "test", data });

function boardOf(gateway: string, store: () => Store, progress = Board.newProgress()) {
  const messages: Message[] = [];
  const lines: unknown[][] = [];
  const board = new Board({
    store,
    gateway,
    progress,
    receive: (message) => messages.push(message),
    log: quietLog(lines),
  });
  return { board, heard: messages, lines };
}

test("the loss of the store is reported, and stops no process", async () => {
  const { board, lines } = boardOf("one", () => {
    throw new Error("The store service is not running");
  });
  board.put(signal(1));
  await until("the attempt", () => lines.length > 0);
  await board.look();
  board.put(signal(2));
  await board.close();
  assert.is(lines.length, 1, "once");
});

test("messages posted just before the end are delivered, and later ones are not", async () => {
  const t = temporaryStore();
  const [first, other] = [boardOf("one", () => t.store), boardOf("other", () => t.store)];
  await other.board.look();
  first.board.put(signal(1));
  await first.board.close();
  first.board.put(signal(2));
  await first.board.close();
  await other.board.look();
  assert.equal(other.heard, [signal(1)]);
  await t.remove();
});

test("a new version that continues after the previous one neither misses nor repeats a message", async () => {
  const t = temporaryStore();
  const [writer, other] = ["writer", "other"].map((name) => boardOf(name, () => t.store).board);
  const progress = Board.newProgress();
  const [first, second] = [
    boardOf("reader", () => t.store, progress),
    boardOf("reader", () => t.store, progress),
  ];
  await first.board.look();
  writer?.put(signal(1));
  await writer?.close();
  await first.board.look();
  other?.put(signal(2));
  await other?.close();
  await second.board.look();
  await first.board.look();
  assert.equal([first.heard, second.heard], [[signal(1)], [signal(2)]]);
  await t.remove();
});

test.run();
