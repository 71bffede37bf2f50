import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnStatus } from "portico/agent";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeHome, type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";

const home = makeHome();
/** Turns that wait for the gate continue once this file exists. */
const gate = join(home, "gate");

/** A provider that thinks for as long as the message says: `wait 150`, `wait for the gate`. */
const SLOW = `import { definePlugin } from "portico";
import { existsSync } from "node:fs";
export default definePlugin({ name: "slow", setup(ctx) {
  ctx.add("provider", { name: "slow", builtinChannel: "slow", async complete(request) {
    const text = request.messages.at(-1).content;
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await pause(Number(/wait (\\d+)/.exec(text)?.[1] ?? 0));
    while (text.includes("the gate") && !existsSync(${JSON.stringify(gate)})) await pause(10);
    return "answer to " + text;
  }, models: () => ["slow"] });
} });`;

const options = {
  home,
  config: { agents: { defaults: { model: "slow", maxConcurrentTurns: 8 } } },
  files: { "plugins/slow/plugin.ts": SLOW },
};

let g: SpawnedGateway;
test.after(() => g?.kill("SIGKILL"));

test("a turn interrupted by kill -9 is resumed, and every acknowledged turn ends", async () => {
  g = await spawnGateway(options);
  const ids: { turnId: string; session: string }[] = [];
  for (let round = 0; round < 3; round++) {
    const started = await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const session = `s${n % 3}`;
        // Some turns run when the gateway is killed, regardless of the machine's speed.
        const { turnId } = await g.json<{ turnId: string }>("POST", "/agent", {
          message: `r${round} n${n} wait ${n % 3 === 0 ? "for the gate" : 150}`,
          session,
        });
        return { turnId, session };
      }),
    );
    ids.push(...started);
    await until(
      "one that runs",
      async () => (await g.json("GET", "/turns?state=running")).turns.length > 0,
    );
    await g.kill("SIGKILL");
    g = await spawnGateway({ home });
  }
  writeFileSync(gate, "");
  let repeats = 0;
  for (const { turnId } of ids) {
    const turn = await until(`the end of ${turnId}`, async () => {
      const status = await g.json<TurnStatus>("GET", `/turns/${turnId}`);
      return status.state === "done" ? status : undefined;
    });
    repeats += turn.attempts - 1;
    assert.match(turn.result ?? "", /^answer to r/);
  }
  const acknowledged = new Set<string>();
  for (const session of ["s0", "s1", "s2"]) {
    const { messages } = await g.json<{ messages: { role: string; turnId: string }[] }>(
      "GET",
      `/sessions/${session}`,
    );
    const order = messages
      .filter((message) => message.role === "user")
      .map((message) => message.turnId);
    assert.is(new Set(order).size, order.length, "a turn is in the transcript twice");
    for (const id of order) acknowledged.add(id);
  }
  assert.is(acknowledged.size, ids.length);
  console.log(`  ${ids.length} turns over 3 kills, ${repeats} repeated, 0 lost`);
});

test("a graceful stop lets running turns finish", async () => {
  rmSync(gate);
  const { turnId } = await g.json<{ turnId: string }>("POST", "/agent", {
    message: "last, wait for the gate",
    session: "s9",
  });
  await until(
    "it runs",
    async () => (await g.json<TurnStatus>("GET", `/turns/${turnId}`)).state === "running",
  );
  const stopped = g.kill("SIGTERM");
  await until("the stop to begin", () => g.output().includes("portico is stopping"));
  writeFileSync(gate, "");
  await stopped;
  assert.is(g.child.exitCode, 0);
  g = await spawnGateway({ home });
  const turn = await g.json<TurnStatus>("GET", `/turns/${turnId}`);
  assert.equal([turn.state, turn.attempts], ["done", 1]);
});

test("requests receive 503 while the store cannot write, and succeed once it can again", async () => {
  const limit = (bytes: string) =>
    execFileSync("prlimit", ["--pid", String(g.child.pid), `--fsize=${bytes}:unlimited`]);
  limit("1");
  const refused = await g.request("POST", "/agent", { message: "not now" });
  assert.is(refused.status, 503);
  assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.is(error.code, "store_unavailable");
  assert.not.match(error.message, /\//, "no path of the host");
  assert.is((await g.request("GET", "/health")).status, 200);
  limit("unlimited");
  const response = await g.json("POST", "/agent", { message: "now", wait: true });
  assert.is(response.result, "answer to now");
});

test.run();
