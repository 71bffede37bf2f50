/** The chat models `agent` and `agent/<id>`: turns like every other. */
import * as assert from "uvu/assert";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { lastOf, type ScriptedGateway, scriptedGateway } from "./scripted.ts";

let g: ScriptedGateway;
let release = () => {};
test.before(async () => {
  const agents = { defaults: { maxConcurrentTurns: 2 } };
  const channels = { side: { provider: "agent" } };
  g = await scriptedGateway({
    config: { agents, channels, models: { nick: "agent", deep: { targets: ["nick"] } } },
  });
});
test.after(() => g.stop());
test.before.each(() => {
  g.asked.length = 0;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  g.script(async (request) => {
    if (lastOf(request).includes("wait")) await held;
    return `answer to ${lastOf(request)}`;
  });
});
test.after.each(() => release());

interface Turn {
  turnId: string;
  sessionId: string;
  state: string;
  source: string;
  error?: { message: string };
}
const chat = (
  content: string,
  headers: Record<string, string> = {},
  rest: object = {},
  signal?: AbortSignal,
) =>
  g.request(
    "POST",
    "/v1/chat/completions",
    { model: "agent", messages: [{ role: "user", content }], ...rest },
    { headers, signal },
  );
const turns = async (state: string) =>
  (await g.json<{ turns: Turn[] }>("GET", `/turns?state=${state}`)).turns;
const turnOf = async (session: string) =>
  (await g.json<{ turns: Turn[] }>("GET", `/turns?session=${encodeURIComponent(session)}`))
    .turns[0];
const textOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message
    .content;

test("chats of one session run one after another, in order", async () => {
  const first = chat("wait one", { "x-portico-session": "lane" });
  await until("the first to ask the model", () => g.asked.length === 1);
  const { turnId } = await g.json<Turn>("POST", "/agent", { message: "two", session: "lane" });
  const third = chat("three", { "x-portico-session": "lane" });
  await until("both to wait", async () => (await turns("queued")).length === 2);
  assert.is(g.asked.length, 1);
  release();
  assert.is(await textOf(await third), "answer to three");
  assert.is(await textOf(await first), "answer to wait one");
  assert.is((await g.json<Turn>("GET", `/turns/${turnId}`)).state, "done");
  assert.equal(g.asked.map(lastOf), ["wait one", "two", "three"]);
});

test("chats count against maxConcurrentTurns, streamed or not", async () => {
  const both = [chat("wait a"), chat("wait b", {}, { stream: true })];
  await until("two to ask the model", () => g.asked.length === 2);
  const third = chat("c");
  await until("the third to wait", async () => (await turns("queued")).length === 1);
  assert.is(g.asked.length, 2);
  release();
  assert.is(await textOf(await third), "answer to c");
  assert.match(
    await (await (both[1] as Promise<Response>)).text(),
    /answer to wait b[\s\S]*\[DONE\]/,
  );
  await both[0];
});

test("chats count against the limit under every name, route and format of the agent", async () => {
  const both = [chat("wait a"), chat("wait b")];
  await until("two to ask the model", () => g.asked.length === 2);
  const messages = [{ role: "user", content: "c" }];
  const ways: [string, object][] = ["agent", "agent/main", "nick", "deep", "side/main"].flatMap(
    (model): [string, object][] => [
      ["chat/completions", { model, messages }],
      ["chat/completions", { model, messages, stream: true }],
      ["messages", { model, messages, max_tokens: 9 }],
      ["messages", { model, messages, max_tokens: 9, stream: true }],
      ["responses", { model, input: "c" }],
      ["responses", { model, input: "c", stream: true }],
    ],
  );
  const responses = ways.map(([path, body]) => g.request("POST", `/v1/${path}`, body));
  await until("all to wait", async () => (await turns("queued")).length === ways.length);
  assert.is(g.asked.length, 2);
  release();
  for (const [i, response] of (await Promise.all(responses)).entries()) {
    const text = await response.text();
    assert.is(response.status, 200, `${JSON.stringify(ways[i])}: ${text}`);
    assert.match(text, /answer to c|answer/);
  }
  await Promise.all(both);
  assert.is(g.asked.length, 2 + ways.length);
});

test("a caller who disconnects cancels the turn, running or queued", async () => {
  for (const session of ["gone", "gone"]) {
    const leave = new AbortController();
    const pending = chat("wait", { "x-portico-session": session }, {}, leave.signal).catch(
      () => {},
    );
    await until("it is in the queue", async () =>
      /running|queued/.test((await turnOf(session))?.state ?? ""),
    );
    leave.abort();
    await pending;
    await until("its end", async () => (await turnOf(session))?.state === "cancelled");
  }
  const first = chat("wait first", { "x-portico-session": "queue" });
  await until("the first to run", async () => (await turnOf("queue"))?.state === "running");
  const leave = new AbortController();
  const second = chat("second", { "x-portico-session": "queue" }, {}, leave.signal).catch(() => {});
  await until("the second to wait", async () => (await turnOf("queue"))?.state === "queued");
  leave.abort();
  await second;
  await until("its end", async () => (await turnOf("queue"))?.state === "cancelled");
  release();
  assert.is((await first).status, 200);
  assert.not(g.asked.map(lastOf).includes("second"));
});

test("a chat that fails gets its error at once, and is not tried again", async () => {
  g.script(() => {
    throw Object.assign(new Error("down"), {});
  });
  const response = await chat("x", { "x-portico-session": "broken" });
  assert.ok(response.status >= 500, String(response.status));
  assert.is(response.headers.get("x-should-retry"), "false");
  assert.is((await turnOf("broken"))?.state, "dead");
  assert.is((await g.request("GET", "/sessions/broken")).status, 404);
});

test("a finished turn does not keep the caller's messages", async () => {
  const secret = "a long conversation";
  const messages = [
    { role: "user", content: secret },
    { role: "assistant", content: "I see." },
    { role: "user", content: "now" },
  ];
  await chat("", { "x-portico-session": "slim" }, { messages });
  assert.ok(JSON.stringify(g.asked[0]).includes(secret));
  const [item] = await g.gateway.use("store").items.list({ kind: "turn", lane: "slim" });
  assert.is((item?.body as { source?: string } | undefined)?.source, "chat");
  assert.not(JSON.stringify(item?.body).includes(secret));
});

test("only sessions without a name from the caller are temporary", async () => {
  const temporary = async (id: string) =>
    (await g.json("GET", `/sessions/${encodeURIComponent(id)}`)).temporary;
  await chat("x", { "x-portico-session": "named by a client" });
  await chat("x", { "x-request-id": "request-12345" });
  const service = g.gateway.use("agent");
  const own = await service.startTurn({ message: "x", source: "webhook" }, { wait: true });
  await service.startTurn(
    { message: "x", source: "webhook", session: "webhook:ci" },
    { wait: true },
  );
  assert.is(await temporary("named by a client"), undefined);
  assert.is(await temporary("webhook:ci"), undefined);
  assert.is(await temporary("chat:request-12345"), true);
  assert.is(await temporary(own.sessionId), true);
  await g.json("POST", "/agent", { message: "go on", session: own.sessionId, wait: true });
  assert.is(await temporary(own.sessionId), undefined, "somebody names it now");
});

test.run();
