/** Tool calls that wait for the owner's yes or no. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { TurnReport } from "portico/agent";
import { suite } from "../../support/suite.ts";
import {
  makeHome,
  type SpawnedGateway,
  spawnGateway,
  type TestGateway,
} from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { clientKey, secretOfKey } from "../../support/principals.ts";
import { until } from "../../support/until.ts";
import { call, lastOf, type ScriptedGateway, scriptedGateway } from "./scripted.ts";

const test = suite("confirm");
let g: ScriptedGateway | undefined;
let spawned: SpawnedGateway | undefined;
test.after.each(async () => {
  await g?.stop();
  await spawned?.kill("SIGKILL");
  g = spawned = undefined;
});

const write = (path: string) => call("files", { action: "write", path, content: "written" });

/** Calls the tool that the message names, and then replies with the last message that it received. */
async function confirming(tools: object = {}, config: object = {}): Promise<ScriptedGateway> {
  g = await scriptedGateway({
    config: {
      ...config,
      agents: {
        defaults: { maxConcurrentTurns: 1, tools: { confirm: ["files.write"], ...tools } },
      },
    },
  });
  g.script((request) => {
    const prompt = String(request.messages.findLast(({ role }) => role === "user")?.content);
    if (request.messages.at(-1)?.role === "tool") return `heard: ${lastOf(request)}`;
    return prompt.startsWith("write ") ? write(prompt.slice(6)) : "nothing to do";
  });
  return g;
}

const start = async (gateway: TestGateway, message: string, session: string): Promise<string> =>
  (await gateway.json("POST", "/agent", { message, session })).turnId;
const show = (gateway: TestGateway, id: string) => gateway.json<TurnReport>("GET", `/turns/${id}`);
const inState = (gateway: TestGateway, id: string, state: string) =>
  until(`${id} to be ${state}`, async () => {
    const turn = await show(gateway, id);
    return turn.state === state ? turn : undefined;
  });

test("a call that waits for confirmation occupies no turn slot, and runs once it is confirmed", async () => {
  const gateway = await confirming();
  const events: string[] = [];
  gateway.gateway.bus.onAny((event) => {
    if (event.name === "agent:confirm")
      events.push(String((event.context as unknown as { tool: string }).tool));
  });
  const id = await start(gateway, "write a.txt", "one");
  const waiting = await inState(gateway, id, "waiting");
  assert.equal(
    waiting.waitingCalls?.map(({ tool }) => tool),
    ["files"],
  );
  assert.match(waiting.waitingCalls?.[0]?.arguments ?? "", /a\.txt/);
  assert.equal(events, ["files"]);
  const other = await gateway.json("POST", "/agent", { message: "hi", session: "two", wait: true });
  assert.is(other.result, "nothing to do");
  const file = join(gateway.home, "workspace", "a.txt");
  assert.not(existsSync(file));

  const response = await gateway.json("POST", `/turns/${id}/confirm`);
  assert.is(response.decision, "confirmed");
  const done = await inState(gateway, id, "done");
  assert.is(readFileSync(file, "utf8"), "written");
  assert.is(done.attempts, 1);
  assert.is(done.trace[0]?.calls[0]?.decision, "confirmed");
  assert.is(done.steps, 2);
  assert.is((await gateway.request("POST", `/turns/${id}/confirm`)).status, 409);
});

test("other actions of the tool need no confirmation", async () => {
  const gateway = await confirming();
  gateway.script((request) =>
    request.messages.at(-1)?.role === "tool" ? "read" : call("files", { action: "list" }),
  );
  const turn = await gateway.json("POST", "/agent", { message: "list", wait: true });
  assert.is(turn.result, "read");
});

test("the model receives the reason of a denial, and is informed about a time-out", async () => {
  const gateway = await confirming();
  const id = await start(gateway, "write b.txt", "one");
  await inState(gateway, id, "waiting");
  const denied = await porticoHere(gateway.home, [
    "turns",
    "deny",
    id.slice(-8),
    "--reason",
    "not on a Sunday",
  ]);
  assert.is(denied.code, 0, denied.stderr);
  const turn = await inState(gateway, id, "done");
  assert.match(turn.result ?? "", /did not allow.*not on a Sunday/);
  assert.is(turn.trace[0]?.calls[0]?.decision, "denied");
  assert.not(existsSync(join(gateway.home, "workspace", "b.txt")));

  await gateway.gateway.config.set("agents.defaults.tools.confirmTimeoutMs", 1);
  const late = await start(gateway, "write c.txt", "one");
  const ended = await inState(gateway, late, "done");
  assert.is(ended.trace[0]?.calls[0]?.decision, "expired");
  assert.match(ended.result ?? "", /time limit/);
  assert.not(existsSync(join(gateway.home, "workspace", "c.txt")));
});

test("the list of tools names the actions that need confirmation, and a call with an unreadable action waits", async () => {
  const gateway = await confirming({ confirm: ["fi*.write", "hang"] });
  const { tools } = await gateway.json("GET", "/tools");
  const patternsOf = (tool: string) =>
    tools.find(({ name }: { name: string }) => name === tool).confirm;
  assert.equal(["files", "hang", "lookup"].map(patternsOf), [["fi*.write"], ["hang"], []]);
  gateway.script((request) =>
    request.messages.at(-1)?.role === "tool" ? "heard" : call("files", "{broken"),
  );
  const id = await start(gateway, "unreadable", "one");
  await inState(gateway, id, "waiting");
});

test("each of several calls in a step is decided separately", async () => {
  const gateway = await confirming();
  const both = [write("d.txt"), write("e.txt")].flatMap(({ tool_calls: calls }) => calls ?? []);
  gateway.script((request) =>
    request.messages.at(-1)?.role === "tool"
      ? request.messages
          .slice(-2)
          .map(({ content }) => content)
          .join(" | ")
      : { content: null, tool_calls: both },
  );
  const id = await start(gateway, "both", "one");
  const { waitingCalls: calls = [] } = await inState(gateway, id, "waiting");
  assert.is(calls.length, 2);
  const unclear = await gateway.request("POST", `/turns/${id}/confirm`);
  assert.is(unclear.status, 409);
  const unknown = await gateway.request("POST", `/turns/${id}/confirm`, { call: "call_none" });
  assert.is(unknown.status, 404);
  const first = await gateway.json("POST", `/turns/${id}/deny`, { call: calls[0]?.callId });
  assert.is(first.waiting, 1);
  assert.is((await show(gateway, id)).waitingCalls?.[0]?.decision, "denied");
  const changed = await gateway.request("POST", `/turns/${id}/confirm`, { call: calls[0]?.callId });
  assert.is(changed.status, 409);
  await gateway.json("POST", `/turns/${id}/confirm`);
  const done = await inState(gateway, id, "done");
  assert.equal(
    done.trace[0]?.calls.map(({ decision }) => decision),
    ["denied", "confirmed"],
  );
  assert.not(existsSync(join(gateway.home, "workspace", "d.txt")));
  assert.ok(existsSync(join(gateway.home, "workspace", "e.txt")));
});

test("only the owner can decide; a waiting turn appears in the list and the status, and can be stopped", async () => {
  const gateway = await confirming({}, { gateway: { keys: clientKey("app") } });
  const id = await start(gateway, "write f.txt", "one");
  await inState(gateway, id, "waiting");
  const token = secretOfKey("app");
  for (const path of [`/turns/${id}/confirm`, `/turns/${id}/deny`]) {
    const refused = await gateway.request("POST", path, undefined, { token });
    assert.ok([401, 403].includes(refused.status), String(refused.status));
  }
  const listed = await porticoHere(gateway.home, ["turns", "list", "--state", "waiting", "--json"]);
  assert.equal(
    JSON.parse(listed.stdout).turns.map(({ turnId }: { turnId: string }) => turnId),
    [id],
  );
  const status = await porticoHere(gateway.home, ["status"]);
  assert.match(status.stdout, new RegExp(`turns show ${id}`));
  const none = await gateway.json("GET", "/turns?principal=key:app");
  assert.equal(none.turns, []);
  await gateway.json("POST", `/turns/${id}/cancel`);
  assert.equal((await gateway.json("GET", "/turns?state=waiting")).turns, []);
  assert.is((await gateway.request("POST", `/turns/${id}/confirm`)).status, 409);
});

test("a chat completion of the agent waits with its connection", async () => {
  const gateway = await confirming();
  const response = gateway.json("POST", "/v1/chat/completions", {
    model: "agent",
    messages: [{ role: "user", content: "write g.txt" }],
  });
  const waiting = await until("the call", async () => {
    const { turns } = await gateway.json("GET", "/turns?state=waiting");
    return turns[0] as TurnReport | undefined;
  });
  await gateway.json("POST", `/turns/${waiting.turnId}/confirm`, {});
  assert.match((await response).choices[0].message.content, /heard: /);
  assert.ok(existsSync(join(gateway.home, "workspace", "g.txt")));
});

test("the command line reports that a call waits, and continues with the response", async () => {
  const gateway = await confirming();
  let isDone = false;
  const run = await porticoHere(
    gateway.home,
    ["agent", "write i.txt", "--session", "s"],
    undefined,
    {
      onOutput(stdout) {
        const [, id, callId] = /turns confirm (turn_\w+) (call_\w+)/.exec(stdout) ?? [];
        if (isDone || id === undefined) return;
        isDone = true;
        void gateway.json("POST", `/turns/${id}/confirm`, { call: callId });
      },
    },
  );
  assert.is(run.code, 0, run.stderr);
  assert.match(run.stdout, /A call of files is waiting.*i\.txt/);
  assert.match(run.stdout, /heard: /);
});

test("a heartbeat that waits for confirmation keeps its events, and later events come with the next heartbeat", async () => {
  const gateway = await confirming();
  gateway.script((request) => {
    if (request.messages.at(-1)?.role === "tool") return "the milk is noted";
    return String(request.messages.at(-1)?.content).includes("milk") ? write("milk.txt") : "seen";
  });
  await gateway.gateway.use("agent").wake({ text: "buy milk", principal: "owner" });
  const { turnId: first } = await gateway.json("POST", "/heartbeat");
  await inState(gateway, first, "waiting");
  await gateway.gateway.use("agent").wake({ text: "buy bread", principal: "owner" });
  const { turnId: second } = await gateway.json("POST", "/heartbeat");
  assert.is.not(second, first);
  await gateway.json("POST", `/turns/${first}/confirm`);
  assert.is((await inState(gateway, first, "done")).result, "the milk is noted");
  await inState(gateway, second, "done");
  assert.ok(gateway.asked.some(({ messages }) => JSON.stringify(messages).includes("bread")));
  assert.is((await gateway.json("GET", "/heartbeat")).queued, 0);
});

test("portico turns show describes a turn in words", async () => {
  const gateway = await confirming({ confirm: [] });
  const { turnId } = await gateway.json("POST", "/agent", {
    message: "write h.txt",
    session: "told",
    wait: true,
  });
  const { stdout, code } = await porticoHere(gateway.home, ["turns", "show", turnId]);
  assert.is(code, 0);
  for (const fact of [
    /state +done/,
    /session +told/,
    /principal +owner/,
    /duration +\d/,
    /steps +2/,
    /tokens +20 in, 10 out/,
    /cost /,
    /Step 1: scripted called one tool/,
    /files \{"action":"write","path":"h\.txt"/,
    /ok, /,
    /Step 2: scripted answered/,
  ])
    assert.match(stdout, fact);
});

const home = makeHome();
/** Its model calls the tool `append` once, then answers; the tool adds a line to a file and can be made to hang. */
const APPENDER = `import { definePlugin, Type } from "portico";
import { appendFileSync, existsSync } from "node:fs";
const file = ${JSON.stringify(join(home, "lines"))};
export default definePlugin({ name: "appender", setup(ctx) {
  ctx.add("provider", { name: "appender", builtinChannel: "appender", models: () => ["appender"],
    async complete({ messages }, info) {
      const last = messages.at(-1);
      const call = { id: "call_1", type: "function", function: { name: "append", arguments: JSON.stringify({ text: last.content }) } };
      const message = last.role === "tool" ? { role: "assistant", content: "heard: " + last.content }
        : { role: "assistant", content: null, tool_calls: [call] };
      return { id: info.id, object: "chat.completion", created: info.created, model: "appender",
        choices: [{ index: 0, message, finish_reason: "stop" }] };
    } });
  ctx.tool({ name: "append", description: "Appends", parameters: Type.Object({ text: Type.String() }),
    async handler({ text }) {
      appendFileSync(file, text + "\\n");
      if (text === "hang") await new Promise(() => {});
      return "appended";
    } });
} });`;

test("a waiting call survives kill -9, and an allowed call runs at most once", async () => {
  const config = { agents: { defaults: { model: "appender", tools: { confirm: ["append"] } } } };
  spawned = await spawnGateway({ home, config, files: { "plugins/appender/plugin.ts": APPENDER } });
  const id = await start(spawned, "first", "one");
  const before = await inState(spawned, id, "waiting");
  await spawned.kill("SIGKILL");
  spawned = await spawnGateway({ home });
  const after = await inState(spawned, id, "waiting");
  assert.equal(after.waitingCalls, before.waitingCalls);
  assert.not(existsSync(join(home, "lines")));
  const confirmed = await porticoHere(home, ["turns", "confirm", id]);
  assert.is(confirmed.code, 0, confirmed.stderr);
  assert.match((await inState(spawned, id, "done")).result ?? "", /appended/);
  assert.is(readFileSync(join(home, "lines"), "utf8"), "first\n");

  const hanging = await start(spawned, "hang", "two");
  await inState(spawned, hanging, "waiting");
  await spawned.json("POST", `/turns/${hanging}/confirm`);
  await until("the call", () => readFileSync(join(home, "lines"), "utf8").includes("hang"));
  await spawned.kill("SIGKILL");
  spawned = await spawnGateway({ home });
  const cut = await inState(spawned, hanging, "done");
  assert.is(cut.trace[0]?.calls[0]?.decision, "interrupted");
  assert.match(cut.result ?? "", /unknown/);
  assert.is(readFileSync(join(home, "lines"), "utf8"), "first\nhang\n");
});

test.run();
