/** The bytes that all upstreams deliver in one turn of the event loop are limited. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { createUpstreamClient } from "../../../../plugins/models/upstream/http/upstream-client.ts";
import {
  BYTES_PER_TURN,
  TurnBudget,
} from "../../../../plugins/models/upstream/http/turn-budget.ts";
import { test } from "../../../support/suite.ts";
import { temporaryDir } from "../../../support/temporary.ts";

test("a reader over the budget is notified of the next turn", async () => {
  const budget = new TurnBudget(100);
  const resumed: string[] = [];
  const reader = (name: string) => ({ nextTurn: () => void resumed.push(name) });
  assert.is(budget.spend(100, reader("a")), true);
  assert.is(budget.spend(1, reader("b")), false);
  assert.equal(resumed, []);
  await new Promise(setImmediate);
  assert.equal(resumed, ["b"]);
  assert.is(budget.spend(100, reader("c")), true, "each turn has its own");
});

const CONNECTIONS = 16;
const READ = 64 * 1024;
const BODY = 4 * 1024 * 1024;
const SERVER = `
const body = Buffer.alloc(${BODY});
require("node:http").createServer((req, res) => { req.resume(); res.end(body); })
  .listen(0, "127.0.0.1", function () { process.send(this.address().port); });
`;

test("many fast upstreams leave room for others in each turn, and all of their bytes arrive", async () => {
  const file = join(temporaryDir("portico-turns-"), "server.cjs");
  writeFileSync(file, SERVER);
  const server = fork(file, { stdio: "ignore" });
  const client = createUpstreamClient({});
  try {
    const [port] = (await once(server, "message")) as [number];
    let ofTurn = 0;
    let most = 0;
    let total = 0;
    const ask = () =>
      new Promise<void>((resolve, reject) => {
        const data = (bytes: Buffer) => {
          ofTurn += bytes.length;
          most = Math.max(most, ofTurn);
          total += bytes.length;
        };
        const call = { method: "GET" as const, url: `http://127.0.0.1:${port}/`, headers: {} };
        client.send(call, { head() {}, data, end: resolve, fail: reject }, undefined);
      });
    let isOver = false;
    const count = () => {
      ofTurn = 0;
      if (!isOver) setImmediate(count);
    };
    count();
    await Promise.all(Array.from({ length: CONNECTIONS }, ask));
    isOver = true;
    assert.is(total, CONNECTIONS * BODY);
    // Each connection learns with a read of its own that the budget is spent.
    assert.ok(most <= BYTES_PER_TURN + CONNECTIONS * READ, `${most} bytes in one turn`);
  } finally {
    client.close();
    server.kill();
  }
});

test.run();
