import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { portico, porticoHere } from "../../support/portico.ts";

let g: InProcessGateway;
test.before(async () => {
  g = await startGateway();
});
test.after(() => g.stop());
/** Runs a command in this process; the first command of each kind runs in its own process. */
const run = (...words: string[]) => porticoHere(g.home, words);

test("portico agent prints the response, and the session stores it", async () => {
  const result = await portico(g.home, ["agent", "hello there", "--session", "cli-test"]);
  assert.is(result.code, 0, result.stderr);
  assert.is(result.stdout.trim(), "hello there");
  const list = await portico(g.home, ["sessions", "list"]);
  assert.match(list.stdout, /^cli-test\s+2\s/m);
  const sessionOutput = await run("sessions", "show", "cli-test");
  assert.match(sessionOutput.stdout, /── user .*\nhello there\n\n── assistant .*\nhello there/);
  const removed = await run("sessions", "rm", "cli-test");
  assert.is(removed.code, 0);
  const again = await run("sessions", "rm", "cli-test", "--json");
  assert.is(again.code, 1);
  assert.match(again.stderr, /no session cli-test/);
});

test("portico agent prints the reply of a hook", async () => {
  const undo = g.gateway.bus.on("message:received", () => ({ reply: "pong" }), {});
  assert.is((await run("agent", "ping")).stdout, "pong\n");
  await undo();
});

test("portico agent accepts commands, returns at once with --detach, and reports failures", async () => {
  assert.match((await run("agent", "/new")).stdout, /new session/);
  const detached = JSON.parse((await run("agent", "hi", "--detach", "--json")).stdout) as {
    turnId: string;
  };
  assert.match(detached.turnId, /^turn_/);
  const [, short = ""] =
    /^(turn_\w{6,}) .* main /m.exec((await portico(g.home, ["turns", "list"])).stdout) ?? [];
  assert.ok(short.length < 20 && detached.turnId.endsWith(short.slice("turn_".length)), short);
  for (const id of [short, short.slice("turn_".length), detached.turnId])
    assert.match((await run("turns", "show", id)).stdout, new RegExp(detached.turnId));
  assert.match((await run("turns", "show", "turn_none")).stderr, /no turn turn_none/);
  const failed = await run("agent", "hi", "--model", "nobody/nothing");
  assert.is(failed.code, 1);
  assert.match(failed.stderr, /does not exist/);
});

test("portico heartbeat and portico store work against a running gateway", async () => {
  assert.match((await portico(g.home, ["heartbeat", "now"])).stdout, /nothing to do/);
  assert.match((await portico(g.home, ["store", "check"])).stdout, /sound/);
  assert.match((await run("store", "backup")).stdout, /state\/backups\/portico-/);
  const status = JSON.parse((await run("store", "status", "--json")).stdout) as { ok: boolean };
  assert.ok(status.ok);
});

test.run();
