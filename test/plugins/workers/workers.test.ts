/** Two workers behind one address: changes reach all or none, and what is shown counts over both. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { Agent, createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { type SpawnedGateway, spawnGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { suite } from "../../support/suite.ts";
import { until, untilRight } from "../../support/until.ts";
import { knock } from "../nodes/support.ts";
import { ask, chat, times, watch } from "../cluster/scene.ts";

const test = suite("workers");
let gateway: SpawnedGateway;
let pids: string[] = [];
/** The ids of their requests. */
const chats: string[] = [];

/** What the model says to some who ask at once, which was counted. */
async function modelReplies(model: string): Promise<string[]> {
  const all = await times(6, () => chat(gateway, model));
  for (const { headers } of all) chats.push(String(headers["x-request-id"]));
  return all.map(({ json }) => json.choices[0].message.content as string);
}
/** What the hook says in either worker. A busy one may have none of a few connections. */
async function answers(): Promise<string[]> {
  const all = new Set<string>();
  await until("both to have answered", async () => {
    for (const text of await modelReplies("echo")) all.add(text);
    return new Set([...all].map((text) => text.split(" ")[1])).size === 2;
  });
  return [...all].sort();
}
function save(body: string): void {
  for (const [path, text] of Object.entries(hookFiles("who", body)))
    writeFileSync(join(gateway.home, path), text);
}
const info = async () => (await ask(gateway, "GET", "/kernel/hooks/who")).json;

/** A model whose text the request chooses. */
const upstream = {
  open: [] as ServerResponse[],
  server: createServer((req, res) => {
    req.resume();
    if (req.method === "GET") return void res.writeHead(404).end();
    res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    upstream.open.push(res);
  }),
  say(res: ServerResponse, content: string) {
    const isText = res.req.url === "/v1/completions";
    const choice = isText ? { index: 0, text: content } : { index: 0, delta: { content } };
    res.write(
      `data: ${JSON.stringify({ id: "chatcmpl-1", created: 1, model: "m", choices: [choice] })}\n\n`,
    );
  },
};

test.before(async () => {
  await once(upstream.server.listen(0, "127.0.0.1"), "listening");
  const baseUrl = `http://127.0.0.1:${(upstream.server.address() as AddressInfo).port}/v1`;
  const webhooks = {
    token: "hook-token",
    mappings: { build: { action: "wake", message: "{body.id}" } },
  };
  const channels = { slow: { provider: "openai", baseUrl } };
  const config = { gateway: { workers: 2 }, usage: { flushMs: 100 }, webhooks, channels };
  gateway = await spawnGateway({
    config,
    files: hookFiles("who", "return { reply: `one ${process.pid}` };"),
  });
});
test.after(async () => {
  await gateway?.stop();
  upstream.server.closeAllConnections();
  upstream.server.close();
});

test("both workers respond", async () => {
  const all = await answers();
  assert.is(all.length, 2, String(all));
  pids = all.map((text) => text.split(" ")[1] as string);
});

test("a saved hook runs in both workers before info reports it", async () => {
  save("return { reply: `two ${process.pid}` };");
  await until("the new version", async () => (await info()).loaded.generation > 1);
  assert.equal(
    await answers(),
    pids.map((pid) => `two ${pid}`),
  );
});

test("a broken hook runs in no worker, and a repaired one in both", async () => {
  save("return {{;");
  const broken = await untilRight(info, ({ state }) => state === "stale");
  assert.ok(broken.error);
  assert.equal(
    await answers(),
    pids.map((pid) => `two ${pid}`),
  );
  save("return { reply: `three ${process.pid}` };");
  await untilRight(info, ({ state }) => state === "active");
  assert.equal(
    await answers(),
    pids.map((pid) => `three ${pid}`),
  );
});

test("a hook that loads in one worker only runs in none, and the error names the worker", async () => {
  const [path, text] = Object.entries(
    hookFiles("who", "return { reply: `four ${process.pid}` };"),
  )[1] as [string, string];
  writeFileSync(
    join(gateway.home, path),
    `if (process.pid === ${pids[0]}) throw new Error("not in here");\n${text}`,
  );
  const refused = await untilRight(info, ({ state }) => state === "stale");
  assert.match(refused.error, /not in here/);
  assert.equal(
    await answers(),
    pids.map((pid) => `three ${pid}`),
  );
});

test("a changed configuration is active in both workers once it is set", async () => {
  const file = join(gateway.home, "portico.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...config, models: { nick: "echo" } }));
  assert.is((await ask(gateway, "POST", "/kernel/config/refresh")).json.problem, null);
  assert.is((await modelReplies("nick")).length, 6);
  writeFileSync(file, JSON.stringify({ ...config, models: 7 }));
  assert.ok((await ask(gateway, "POST", "/kernel/config/refresh")).json.problem);
  const problems = await times(
    4,
    async () => (await ask(gateway, "GET", "/kernel/status")).json.config.problem?.message,
  );
  assert.equal(problems.filter((problem) => /models/.test(problem)).length, 4);
  writeFileSync(file, JSON.stringify({ ...config, models: { nick: "echo" } }));
  assert.is((await ask(gateway, "POST", "/kernel/config/refresh")).json.problem, null);
});

test("a hook is switched off and on in both workers", async () => {
  await ask(gateway, "POST", "/kernel/hooks/who/disable");
  assert.equal(await modelReplies("echo"), Array(6).fill("hi"));
  save('if (event.context.content !== "go") return { reply: `five ${process.pid}` };');
  await ask(gateway, "POST", "/kernel/hooks/who/enable");
  assert.equal(
    await answers(),
    pids.map((pid) => `five ${pid}`),
  );
});

test("each worker describes the routes of both, including servers of only one", async () => {
  const documents = await times(4, async () => (await ask(gateway, "GET", "/openapi.json")).json);
  for (const { paths } of documents) {
    assert.ok(paths["/snapshot"]?.get, "the browser's");
    assert.equal(Object.keys(paths), Object.keys(documents[0].paths));
  }
});

test("status, metrics, log and hook runs cover both workers", async () => {
  const [first, other] = await times(
    2,
    async () => (await ask(gateway, "GET", "/kernel/status")).json,
  );
  for (const status of [first, other]) {
    assert.is(status.workers.count, 2);
    assert.equal(
      status.workers.running.map(({ pid }: { pid: number }) => String(pid)).sort(),
      pids,
    );
    assert.equal(Object.keys(status.servers).sort(), ["browser", "relay"]);
    assert.is(status.pid, gateway.child.pid);
  }
  // Of the last ones: the log that is shown is not the whole.
  const before = chats.length;
  await answers();
  const ids = chats.slice(before).sort();
  const logged = await untilRight(
    async () => {
      const { lines } = (await ask(gateway, "GET", "/kernel/logs?lines=1000")).json;
      return lines
        .map(({ id }: { id?: string }) => id)
        .filter((id?: string) => id && ids.includes(id)) as string[];
    },
    (all) => all.length >= ids.length,
  );
  assert.equal(logged.sort(), ids);
  const scrapes = await times(4, async () => (await ask(gateway, "GET", "/metrics")).text);
  for (const text of scrapes) {
    const line = /portico_chat_requests_total\{channel="echo",status="200"\} (\d+)/.exec(text);
    const hooked = /portico_hook_runs_total\{hook="who",root="managed"\} (\d+)/.exec(text);
    assert.ok(Number(line?.[1] ?? 0) + Number(hooked?.[1]) >= chats.length, text);
    assert.match(text, /portico_hook_state\{hook="who",root="managed",state="active"\} 1\n/);
  }
  assert.is(
    (await info()).runs,
    Number(/portico_hook_runs_total\{hook="who",root="managed"\} (\d+)/.exec(scrapes[0]!)?.[1]),
  );
});

test("the feed shows the events of both workers", async () => {
  const feed = watch(gateway, "GET", "/events?name=message:received");
  await feed.opened;
  await untilRight(
    async () => {
      await times(2, (i) => chat(gateway, "echo", `word ${i}`));
      return feed.text();
    },
    (text) => text.includes("word 0") && text.includes("word 1"),
  );
  feed.close();
});

test("a waiting caller catches a webhook's sample, whichever worker gets the request", async () => {
  let waiting = 2;
  const caught = times(2, () =>
    ask(gateway, "POST", "/webhooks/samples/build").finally(() => waiting--),
  );
  await until("both", async () => {
    // fetch keeps its connection, and so its worker
    await gateway
      .request("POST", "/hooks/build", { id: 1 }, { token: "hook-token" })
      .then((response) => response.text());
    return waiting === 0;
  });
  for (const { json } of await caught) assert.equal(json.sample.body, { id: 1 });
});

test("the browser's routes work from any connection", async () => {
  const all = await times(4, () => ask(gateway, "GET", "/dashboard/browser/profiles"));
  assert.equal(
    all.map(({ status, json }) => [status, json.profiles.length > 0]),
    Array(4).fill([200, true]),
  );
  const missing = await times(4, () =>
    ask(gateway, "GET", "/dashboard/browser/tabs?profile=nobody"),
  );
  assert.equal(new Set(missing.map(({ status, json }) => `${status} ${json.error.code}`)).size, 1);
});

test("a node belongs to the first worker, whichever it connected to", async () => {
  const names = ["left", "right", "left"];
  const sockets = names.slice(0, 2).map((name) => knock(gateway, name));
  await Promise.all(
    sockets.map(async (socket) => {
      await once(socket, "message"); // the gateway's welcome
      socket.send(
        JSON.stringify({
          t: "hello",
          version: "0.1.0",
          platform: "linux",
          browser: true,
          profiles: ["one"],
        }),
      );
    }),
  );
  for (const _ of names) {
    const nodes = await untilRight(
      async () =>
        (await ask(gateway, "GET", "/nodes")).json.nodes as { name: string; state: string }[],
      (all) => all.length === 2,
    );
    assert.equal(nodes.map(({ name, state }) => `${name} ${state}`).sort(), [
      "left connected",
      "right connected",
    ]);
  }
  for (const socket of sockets) socket.terminate();
  await untilRight(
    async () => (await ask(gateway, "GET", "/nodes")).json.nodes as { state: string }[],
    (all) => all.every(({ state }) => state === "gone"),
  );
});

test("a cron tick fires once", async () => {
  const body = {
    name: "once",
    schedule: "in 300ms",
    payload: { kind: "systemEvent", text: "tick" },
  };
  const { id } = (await ask(gateway, "POST", "/cron/jobs", body)).json;
  const runs = await untilRight(
    async () => (await ask(gateway, "GET", `/cron/jobs/${id}/runs`)).json.runs,
    (all) => all.length > 0,
  );
  assert.is(runs.length, 1);
});

/** The processes of both workers, once both take requests. */
const running = (without: readonly string[]) =>
  untilRight(
    async (): Promise<string[]> =>
      (await ask(gateway, "GET", "/kernel/status")).json.workers.running.map(
        ({ pid }: { pid: number }) => String(pid),
      ),
    (all) => all.length === 2 && !all.some((pid) => without.includes(pid)),
  );

/** A connection to the second worker. */
const toSecond = () =>
  until("a connection to it", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const { json } = await chat(gateway, "echo", "hi", undefined, agent);
    if (json.choices[0].message.content.endsWith(pids[1])) return agent;
    agent.destroy();
    return undefined;
  });

test("a worker that is killed is replaced; the other goes on, its own streams end with an error", async () => {
  const messages = [{ role: "user", content: "go" }];
  const bodies = {
    "/v1/chat/completions": { messages },
    "/v1/messages": { messages, max_tokens: 9 },
    "/v1/responses": { input: "go" },
    "/v1/completions": { prompt: "go" },
  };
  const streams = await Promise.all(
    Object.entries(bodies).map(async ([path, body]) =>
      watch(gateway, "POST", path, { model: "slow/m", stream: true, ...body }, await toSecond()),
    ),
  );
  const feed = watch(gateway, "GET", "/events", undefined, await toSecond());
  await feed.opened;
  await until("all to be asked", () => upstream.open.length === streams.length);
  // with the third word, what is to be said at its death has been told, for that is done 50 ms after the first
  for (const word of ["one", "two", "three"]) {
    if (word === "two") await new Promise((resolve) => setTimeout(resolve, 60));
    for (const res of upstream.open) upstream.say(res, word);
    await until(word, () => streams.every(({ text }) => text().includes(word)));
  }
  process.kill(Number(pids[1]), "SIGKILL");
  assert.equal(await Promise.all(streams.map(({ end }) => end)), [
    "whole",
    "whole",
    "whole",
    "whole",
  ]);
  const [inChat, inMessages, inResponses, inCompletions] = streams.map(({ text }) => text());
  for (const text of [inChat, inCompletions])
    assert.match(
      text as string,
      /data: {"error":{"message":"[^"]+","type":"api_error","param":null,"code":"service_unavailable"}}\n\ndata: \[DONE\]\n\n$/,
    );
  assert.match(
    inMessages as string,
    /event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":/,
  );
  assert.match(
    inResponses as string,
    /event: error\ndata: {"type":"error","sequence_number":\d+,"code":"service_un/,
  );
  assert.is(await feed.end, "cut");
  for (const res of upstream.open) res.destroy();
  await running([pids[1] as string]);
  assert.match(gateway.output(), /worker [12] has ended \(SIGKILL\) and is replaced/);
  const all = await answers();
  assert.is(all.length, 2);
  assert.ok(
    all.every((text) => text.startsWith("five ")),
    String(all),
  );
});

test("a worker that dies repeatedly is replaced at once each time", async () => {
  const dead = [pids[1] as string];
  for (let n = 0; n < 4; n++) {
    const victim = (await running(dead)).find((pid) => pid !== pids[0]) as string;
    process.kill(Number(victim), "SIGKILL");
    dead.push(victim);
  }
  await running(dead);
  assert.not.match(gateway.output(), /is replaced in \d+ ms/);
});

test("SIGTERM ends all workers in order", async () => {
  await gateway.kill("SIGTERM");
  assert.is(gateway.child.exitCode, 0);
});

test.run();
