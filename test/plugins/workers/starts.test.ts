/** Workers that cannot start end the gateway with the reason, or are tried again; one that stands still is replaced. */
import { fork } from "node:child_process";
import { on, once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, spawnGateway } from "../../support/gateway.ts";
import { porticoProgram } from "../../support/runner/bundle.ts";
import { portico } from "../../support/portico.ts";
import { suite } from "../../support/suite.ts";
import { until, untilRight } from "../../support/until.ts";
import { ask, chat, times, watch } from "../cluster/scene.ts";

const test = suite("starts of workers");

for (const [what, config, message] of [
  ["an unknown key", { unheard: true }, /unheard is not a known key/],
  [
    "a certificate that is not there",
    { gateway: { tls: { cert: "/no/cert", key: "/no/key" } } },
    /gateway\.tls\.cert/,
  ],
  ["an unset variable", { gateway: { bind: "${UNHEARD}" } }, /gateway\.bind.*UNHEARD/],
] as const) {
  test(`${what} ends the start, and is reported once`, async () => {
    const home = makeHome();
    const gateway = { workers: 2, port: 0, ...("gateway" in config ? config.gateway : {}) };
    writeFileSync(join(home, "portico.json"), JSON.stringify({ ...config, gateway }));
    const { code, stderr } = await portico(home, ["start"]);
    assert.is(code, 1);
    assert.match(stderr, message);
    assert.is(stderr.trim().split("\n").length, 1, stderr);
  });
}

test("a worker that cannot be replaced for a while is retried until it can", async () => {
  const gateway = await spawnGateway({ config: { gateway: { workers: 2 } } });
  try {
    const file = join(gateway.home, "portico.json");
    const running = async (): Promise<number[]> =>
      (await ask(gateway, "GET", "/kernel/status")).json.workers.running.map(
        ({ pid }: { pid: number }) => pid,
      );
    const [, victim] = (await untilRight(running, (all) => all.length === 2)) as [number, number];
    const good = readFileSync(file, "utf8");
    writeFileSync(file, "{ broken");
    process.kill(victim, "SIGKILL");
    await until("a start that failed", () =>
      /worker 2 has ended \(code 1\)/.test(gateway.output()),
    );
    writeFileSync(file, good);
    await untilRight(running, (all) => all.length === 2 && !all.includes(victim));
  } finally {
    await gateway.stop();
  }
});

test("a frozen worker is bypassed, killed and replaced, and a save waits for its successor", async () => {
  const gateway = await spawnGateway({ config: { gateway: { workers: 2 } } });
  try {
    const running = async (): Promise<number[]> =>
      (await ask(gateway, "GET", "/kernel/status")).json.workers.running.map(
        ({ pid }: { pid: number }) => pid,
      );
    const [firstPid, still] = (await untilRight(running, (all) => all.length === 2)) as [
      number,
      number,
    ];
    // one connection to each: what the stopped one has in its hands is cut when it goes
    const streams = await Promise.all(
      [1, 2].map(async () => {
        const feed = watch(gateway, "GET", "/events");
        await feed.opened;
        return feed;
      }),
    );
    process.kill(still, "SIGSTOP");
    const isHealthy = () => ask(gateway, "GET", "/health").then(({ status }) => status === 200);
    assert.equal(
      await times(4, isHealthy),
      Array(4).fill(true),
      "those that it has not taken go to the other",
    );
    await untilRight(
      () => portico(gateway.home, ["config", "set", "models.nick", "echo"]),
      ({ code }) => code === 0,
    );
    assert.is(await Promise.race(streams.map(({ end }) => end)), "cut");
    const all = await untilRight(running, (now) => now.length === 2 && !now.includes(still));
    assert.ok(all.includes(firstPid), "the other lives");
    assert.match(gateway.output(), /worker \d is stopped, so it is killed/);
    const nicks = await times(4, () => chat(gateway, "nick"));
    assert.equal(
      nicks.map(({ status }) => status),
      Array(4).fill(200),
    );
    for (const { close } of streams) close();
  } finally {
    await gateway.stop();
  }
});

/** As the process that runs the workers would start it: what it is sent lies in its channel before it reads any of it. */
function forkWorker(home: string, ...early: object[]) {
  const [file = "", ...words] = [...porticoProgram().slice(-1), "start", "--home", home];
  const execArgv = porticoProgram().slice(0, -1);
  const env = { ...process.env, PORTICO_WORKER: "1" };
  const child = fork(file, words, {
    env,
    execArgv,
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  for (const message of early) child.send(message);
  const ended = once(child, "exit").then(([code]) => ({
    type: "ended",
    code: code as number,
    said: output,
  }));
  const waitForMessage = async (type: string): Promise<{ type: string }> => {
    for await (const [message] of on(child, "message") as AsyncIterable<[{ type: string }]>)
      if (message.type === type) return message;
    throw new Error(`it never said ${type}`);
  };
  return { child, ended, next: (type: string) => Promise.race([waitForMessage(type), ended]) };
}

test("a worker starts whatever messages about the others arrive first", async () => {
  const home = makeHome();
  writeFileSync(
    join(home, "portico.json"),
    "{ gateway: { port: 0, workers: 2, auth: { token: 'known' } } }",
  );
  const { child, ended, next } = forkWorker(home, { type: "ready", workers: [0] });
  const hello = await next("hello");
  assert.is(hello.type, "hello", JSON.stringify(hello));
  const ready = next("ready");
  const gateway = { gateway: "g", startedAt: Date.now(), port: 0, tokenIsNew: false };
  child.send({ type: "begin", index: 1, count: 2, ...gateway });
  assert.is((await ready).type, "ready", JSON.stringify(await ready));
  child.send({ type: "stop", reason: "the test is over" });
  assert.is((await ended).code, 0);
});

test("a worker that is stopped before it starts exits", async () => {
  const { ended } = forkWorker(
    makeHome(),
    { type: "ready", workers: [0] },
    { type: "stop", reason: "enough" },
  );
  assert.is((await ended).code, 0);
});

test.run();
