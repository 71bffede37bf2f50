import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnStatus } from "portico/agent";
import { removeFences } from "../../support/fence.ts";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { call, lastOf, type ScriptedGateway, scriptedGateway } from "./scripted.ts";

let g: ScriptedGateway;
test.before(async () => {
  g = await scriptedGateway({
    config: {
      agents: {
        defaults: { maxSteps: 4 },
        list: {
          poet: { systemPrompt: "Rhyme.", tools: { allow: [] } },
          hasty: { timeoutMs: 60 },
          patient: { maxSteps: 50 },
        },
      },
    },
    files: { "workspace/AGENTS.md": "Always be brief.", "workspace/SOUL.md": "Calm." },
  });
});
test.after(() => g.stop());
test.before.each(() => {
  g.asked.length = 0;
  g.script(() => "ok");
});

let sessions = 0;
const newSession = () => `test-${++sessions}`;
const ask = (message: string, rest: Record<string, unknown> = {}) =>
  g.json<TurnStatus & { status: number }>("POST", "/agent", {
    message,
    wait: true,
    session: newSession(),
    ...rest,
  });
const transcript = async (session: string) =>
  (await g.json<{ messages: { role: string; content: string }[] }>("GET", `/sessions/${session}`))
    .messages;

test("a turn calls tools until the model replies, and its session stores all messages", async () => {
  g.script((request) =>
    request.messages.some((each) => each.role === "tool")
      ? "It is 42."
      : call("lookup", { key: "x" }),
  );
  const session = newSession();
  const response = await ask("What is x?", { session });
  assert.is(response.status, 200);
  assert.match(response.turnId, /^turn_/);
  assert.is(response.sessionId, session);
  assert.is(response.result, "It is 42.");
  assert.is(response.steps, 2);
  assert.is(response.usage?.total_tokens, 30);
  const messages = await transcript(session);
  assert.equal(
    messages.map((message) => message.role),
    ["user", "assistant", "tool", "assistant"],
  );
  assert.is(removeFences(messages[2]?.content ?? ""), "value of x");
  assert.ok(g.asked[0]?.tools?.some((tool) => tool.function?.name === "lookup"));
});

test("the workspace's files are in the system prompt", async () => {
  await ask("hello");
  const system = String(g.asked[0]?.messages[0]?.content);
  assert.match(system, /## AGENTS\.md\n\nAlways be brief\./);
  assert.match(system, /## SOUL\.md/);
  assert.not.match(system, /MEMORY\.md/);
});

test("a session remembers its messages, and another session does not have them", async () => {
  const session = newSession();
  await ask("first", { session });
  await ask("second", { session });
  assert.equal(
    g.asked[1]?.messages.slice(1).map((message) => message.content),
    ["first", "ok", "second"],
  );
  await ask("third");
  assert.is(g.asked[2]?.messages.length, 2);
});

for (const [what, reply, expected] of [
  ["a tool that is not there", call("nope", {}), /no tool named "nope"; there are: .*lookup/],
  ["arguments that are no JSON", call("lookup", "{key:"), /not valid JSON/],
  ["arguments that do not fit", call("lookup", { key: 5 }), /key/],
  ["arguments that are a list", call("lookup", "[1]"), /one JSON object/],
  ["a tool that hangs", call("hang", {}), /did not respond within 50 ms/],
  ["a tool that throws", call("explode", {}), /kaboom/],
] as const) {
  test(`the model receives the error about ${what}, and the turn continues`, async () => {
    g.script((request) => (request.messages.at(-1)?.role === "tool" ? "I see." : reply));
    assert.is((await ask("go")).result, "I see.");
    assert.match(lastOf(g.asked[1] as never), expected);
  });
}

test("maxSteps stops a model that never stops calling tools, and the transcript stays complete", async () => {
  let n = 0;
  g.script(() => call("lookup", { key: `k${n++}` }));
  const session = newSession();
  const response = await ask("go", { session });
  assert.is(response.state, "done");
  assert.match(response.result ?? "", /limit of 4 steps/);
  assert.is(g.asked.length, 4);
  assert.is(g.asked[3]?.["tool_choice"], "none");
  const messages = (await transcript(session)) as { role: string; tool_calls?: unknown[] }[];
  assert.is(
    messages.filter((each) => each.role === "tool").length,
    messages.filter((each) => each.tool_calls).length,
  );
});

test("a model that repeats the same calls is stopped long before maxSteps", async () => {
  g.script(() => call("lookup", { key: "same" }));
  const response = await ask("go", { agent: "patient" });
  assert.match(response.result ?? "", /again and again with the same result/);
  assert.is(g.asked.length, 4);
});

test("an image reaches the model unchanged", async () => {
  const content = [
    { type: "text", text: "what is this?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  ];
  await g.json("POST", "/v1/chat/completions", {
    model: "agent",
    messages: [{ role: "user", content }],
  });
  assert.equal(g.asked[0]?.messages.at(-1)?.content, content);
});

test("turns of one session run one after another, in order", async () => {
  const order: string[] = [];
  let open = () => {};
  const first = new Promise<void>((resolve) => {
    open = resolve;
  });
  g.script(async (request) => {
    order.push(`${lastOf(request)} begins`);
    if (lastOf(request) === "a") await first;
    order.push(`${lastOf(request)} ends`);
    return "ok";
  });
  const session = newSession();
  const turns: string[] = [];
  for (const message of ["a", "b", "c"]) {
    turns.push((await g.json<TurnStatus>("POST", "/agent", { message, session })).turnId);
  }
  // one of another session comes later, and is done while the first of this one holds up the others
  await ask("other");
  open();
  for (const id of turns) {
    await until(
      "its end",
      async () => (await g.json<TurnStatus>("GET", `/turns/${id}`)).state === "done",
    );
  }
  const own = order.filter((each) => !each.startsWith("other"));
  assert.equal(own, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  const contents = (await transcript(session))
    .filter((each) => each.role === "user")
    .map((each) => each.content);
  assert.equal(contents, ["a", "b", "c"]);
});

test("turns of different sessions run side by side", async () => {
  let running = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => {
    open = resolve;
  });
  g.script(async () => {
    if (++running === 3) open();
    await all;
    return "ok";
  });
  const responses = await Promise.all(["a", "b", "c"].map((message) => ask(message)));
  assert.equal(
    responses.map(({ state }) => state),
    ["done", "done", "done"],
  );
});

test("a failing upstream is tried again with back-off, then the turn is dead and can be replayed", async () => {
  const failures: { willRetry: boolean }[] = [];
  const undo = g.gateway.bus.on("agent:failed", (event) => void failures.push(event.context), {});
  let fails = 2;
  g.script(() => {
    if (fails-- > 0) throw new Error("connection reset");
    return "made it";
  });
  const response = await ask("go");
  assert.is(response.result, "made it");
  assert.is(response.attempts, 3);
  await until("both events", () => failures.length === 2);
  assert.equal(
    failures.map(({ willRetry }) => willRetry),
    [true, true],
  );

  g.script(() => {
    throw new Error("connection reset");
  });
  const refused = await g.request("POST", "/agent", {
    message: "go",
    wait: true,
    session: newSession(),
  });
  const { error } = (await refused.json()) as { error: { code: string; turnId: string } };
  assert.equal([refused.status, error.code], [502, "upstream_error"]);
  const dead = await g.json<TurnStatus>("GET", `/turns/${error.turnId}`);
  assert.equal([dead.state, dead.attempts, dead.error?.code], ["dead", 5, "upstream_error"]);
  await until("agent:failed", () => failures.some((failure) => !failure.willRetry));
  g.script(() => "at last");
  assert.equal(await g.json("POST", `/turns/${error.turnId}/replay`), { ok: true });
  await until(
    "the replay",
    async () => (await g.json<TurnStatus>("GET", `/turns/${error.turnId}`)).state === "done",
  );
  assert.is((await g.json<TurnStatus>("GET", `/turns/${error.turnId}`)).result, "at last");
  await undo();
});

test("an unknown model is an error of the caller", async () => {
  const refused = await g.request("POST", "/agent", {
    message: "go",
    wait: true,
    model: "nobody/x",
    session: newSession(),
  });
  assert.is(refused.status, 404);
  assert.is(((await refused.json()) as { error: { code: string } }).error.code, "model_not_found");
});

test("a turn that takes too long ends with a time-out, and its session goes on", async () => {
  g.script(() => new Promise<string>(() => {}));
  const session = newSession();
  const late = await g.request("POST", "/agent", {
    message: "go",
    wait: true,
    session,
    agent: "hasty",
  });
  assert.is(late.status, 504);
  assert.is(((await late.json()) as { error: { code: string } }).error.code, "timeout");
  g.script(() => "next");
  assert.is((await ask("again", { session })).result, "next");
});

test("a running turn can be cancelled", async () => {
  g.script(() => new Promise<string>(() => {}));
  const { turnId } = await g.json<{ turnId: string }>("POST", "/agent", {
    message: "go",
    session: newSession(),
  });
  await until("the model", () => g.asked.length === 1);
  assert.equal(await g.json("POST", `/turns/${turnId}/cancel`), { ok: true });
  await until(
    "the end",
    async () => (await g.json<TurnStatus>("GET", `/turns/${turnId}`)).state === "cancelled",
  );
  assert.equal(await g.json("POST", `/turns/${turnId}/cancel`), { ok: false });
});

test("/new passes the old conversation to the hooks and starts a new one; /stop stops the running turn", async () => {
  const commands: {
    command: string;
    previousSession?: { messages: { role: string; content: string }[] };
  }[] = [];
  const undos = (["command:new", "command:stop"] as const).map((name) =>
    g.gateway.bus.on(
      name,
      (event) => {
        commands.push(event.context);
        event.messages.push("noted");
      },
      {},
    ),
  );
  const session = newSession();
  await ask("remember me", { session });
  const response = await g.json("POST", "/agent", { message: "/new", session });
  assert.is(response.command, "new");
  assert.match(response.result, /^noted\n\n/);
  assert.equal(commands[0]?.previousSession?.messages, [
    { role: "user", content: "remember me" },
    { role: "assistant", content: "ok" },
  ]);
  assert.equal(await transcript(session), []);

  g.script(() => new Promise<string>(() => {}));
  const { turnId } = await g.json<{ turnId: string }>("POST", "/agent", { message: "go", session });
  await until("the model", () => g.asked.some((request) => lastOf(request) === "go"));
  const stopped = await g.json("POST", "/agent", { message: "/stop", session });
  assert.match(stopped.result, /Stopped one turn/);
  assert.is((await g.json<TurnStatus>("GET", `/turns/${turnId}`)).state, "cancelled");
  assert.is(commands[1]?.command, "stop");
  for (const undo of undos) await undo();
});

test("a message:received handler can change, reply to or block a turn", async () => {
  const undo = g.gateway.bus.on(
    "message:received",
    (event) => {
      if (event.context.content === "block me") return { block: "not today" };
      if (event.context.content === "answer me") return { reply: "from the hook" };
      event.context.content = event.context.content.toUpperCase();
      return undefined;
    },
    {},
  );
  assert.is((await ask("answer me")).result, "from the hook");
  assert.is(g.asked.length, 0);
  await ask("shout");
  assert.is(lastOf(g.asked[0] as never), "SHOUT");
  const blocked = await g.request("POST", "/agent", { message: "block me" });
  assert.is(blocked.status, 403);
  assert.is(((await blocked.json()) as { error: { code: string } }).error.code, "blocked_by_hook");
  await undo();
});

test("an agent:bootstrap handler can change the files and the prompt", async () => {
  const undo = g.gateway.bus.on(
    "agent:bootstrap",
    (event) => {
      assert.equal(
        event.context.bootstrapFiles.map((file) => [file.name, file.missing]).slice(0, 3),
        [
          ["AGENTS.md", false],
          ["SOUL.md", false],
          ["USER.md", true],
        ],
      );
      event.context.systemPrompt = "You are a pirate.";
      event.context.bootstrapFiles = [
        { name: "EXTRA.md", path: "/x", content: "Arr.", missing: false },
      ];
    },
    {},
  );
  await ask("hello");
  const system = String(g.asked[0]?.messages[0]?.content);
  assert.match(system, /^You are a pirate\./);
  assert.match(system, /EXTRA\.md\n\nArr\./);
  assert.not.match(system, /AGENTS\.md/);
  await undo();
});

test("the models agent and agent/<id> run a complete turn with the caller's messages", async () => {
  g.script((request) =>
    request.messages.some((each) => each.role === "tool")
      ? "done: 7"
      : call("lookup", { key: "y" }),
  );
  const body = {
    messages: [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three" },
    ],
  };
  const response = await g.json("POST", "/v1/chat/completions", { model: "agent", ...body });
  assert.is(response.choices[0].message.content, "done: 7");
  assert.is(response.model, "agent");
  assert.is(response.usage.total_tokens, 30);
  assert.equal(
    g.asked[0]?.messages.slice(1).map((each) => each.content),
    ["one", "two", "three"],
  );
  const streamed = await g.request("POST", "/v1/chat/completions", {
    model: "agent",
    stream: true,
    ...body,
  });
  const text = await streamed.text();
  assert.match(text, /"content":"done:/);
  assert.match(text, /"finish_reason":"stop"/);
  assert.match(text, /data: \[DONE\]\s*$/);
  g.script(() => "roses");
  await g.json("POST", "/v1/chat/completions", { model: "agent/poet", ...body });
  const poet = g.asked.at(-1);
  assert.match(String(poet?.messages[0]?.content), /^Rhyme\./);
  assert.is(poet?.tools, undefined);
  const nobody = await g.request("POST", "/v1/chat/completions", {
    model: "agent/nobody",
    ...body,
  });
  assert.is(nobody.status, 404);
  assert.is(((await nobody.json()) as { error: { param: string } }).error.param, "model");
  assert.is((await g.request("GET", "/v1/models/agent/nobody")).status, 404);
  assert.is((await g.request("GET", "/v1/models/agent/poet")).status, 200);
  const { data } = await g.json("GET", "/v1/models");
  assert.ok(data.some((model: { id: string }) => model.id === "agent"));
});

test("an agent that is added to the configuration is a listed model at once", async () => {
  const listed = async () =>
    (await g.json<{ data: { id: string }[] }>("GET", "/v1/models")).data.some(
      ({ id }) => id === "agent/late",
    );
  assert.not(await listed());
  const config = JSON.parse(readFileSync(join(g.home, "portico.json"), "utf8"));
  config.agents.list.late = {};
  g.write("portico.json", JSON.stringify(config));
  await until("the agent is listed", listed);
});

test("POST /agent streams the response on request", async () => {
  g.script(() => "word by word");
  const response = await g.request("POST", "/agent", {
    message: "go",
    stream: true,
    session: newSession(),
  });
  assert.match(response.headers.get("content-type") ?? "", /text\/event-stream/);
  const text = await response.text();
  assert.match(text, /event: turn\ndata: {"turnId":"turn_/);
  assert.match(text, /event: delta/);
  assert.match(text, /event: end\ndata: .*"result":"word by word"/);
});

/** The events of a streamed `POST /agent`, without `tool`. */
async function streamed(
  message: string,
  rest: Record<string, unknown> = {},
): Promise<[string, any][]> {
  const response = await g.request("POST", "/agent", {
    message,
    stream: true,
    session: newSession(),
    ...rest,
  });
  return [...(await response.text()).matchAll(/^event: (.*)\ndata: (.*)$/gm)]
    .map(([, event, data]): [string, any] => [event as string, JSON.parse(data as string)])
    .filter(([event]) => event !== "tool");
}
const deltaTexts = (events: [string, any][]) =>
  events.filter(([event]) => event === "delta").map(([, { text }]) => text as string);

test("text that no model wrote is streamed too: a hook's reply, its notes, the notice of a limit", async () => {
  const undo = g.gateway.bus.on(
    "message:received",
    (event) => {
      event.messages.push("a note");
      return event.context.content === "ping" ? { reply: "pong" } : undefined;
    },
    {},
  );
  const replied = await streamed("ping");
  assert.is(deltaTexts(replied).join(""), "a note\n\npong");
  assert.is(replied.at(-1)?.[1].result, "a note\n\npong");
  let n = 0;
  g.script(() => ({ ...call("lookup", { key: `k${n++}` }), content: `Look ${n}.` }));
  const limited = await streamed("go");
  const notice = "[Stopped: the limit of 4 steps was reached.]";
  assert.is(
    deltaTexts(limited).join(""),
    `a note\n\nLook 1.\n\nLook 2.\n\nLook 3.\n\nLook 4.\n\n${notice}`,
  );
  assert.is(limited.at(-1)?.[1].result, `a note\n\nLook 4.\n\n${notice}`);
  await undo();
});

test("events of a turn before its response has begun are streamed too", async () => {
  const store = g.gateway.use("store");
  const { enqueue } = store;
  const session = newSession();
  // slow to answer: the turn is over by then
  store.enqueue = async (...args) => {
    const enqueued = await enqueue(...args);
    await until(
      "the turn's end",
      async () => (await store.items.list({ lane: session, state: "done" })).length > 0,
    );
    return enqueued;
  };
  try {
    g.script(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "It is 42." : call("lookup", { key: "x" }),
    );
    const text = await (
      await g.request("POST", "/agent", { message: "go", stream: true, session })
    ).text();
    assert.equal(
      [...text.matchAll(/^event: (.*)$/gm)].map(([, event]) => event),
      ["turn", "tool", "delta", "end"],
    );
  } finally {
    store.enqueue = enqueue;
  }
});

test("a stream reports a failed attempt at once, and a new attempt before its first text", async () => {
  let attempts = 0;
  g.script(async function* () {
    yield ++attempts === 1 ? "Half an" : "The whole answer.";
    if (attempts === 1) throw new Error("connection reset");
  } as never);
  const events = await streamed("go");
  assert.equal(
    events.slice(1, -1).map(([event, data]) => [event, data.text ?? data.attempt]),
    [
      ["delta", "Half an"],
      ["failed", 1],
      ["attempt", 2],
      ["delta", "The whole answer."],
    ],
  );
  const { error, retryAt } = events.find(([event]) => event === "failed")?.[1] ?? {};
  assert.type(error?.message, "string");
  assert.ok(Date.parse(retryAt) > Date.now() - 10_000);
  assert.is(events.at(-1)?.[1].result, "The whole answer.");
});

test("the stream of the model agent contains each text once", async () => {
  let n = 0;
  g.script(() => ({ ...call("lookup", { key: `k${n++}` }), content: `Look ${n}.` }));
  const body = { model: "agent", stream: true, messages: [{ role: "user", content: "go" }] };
  const text = await (await g.request("POST", "/v1/chat/completions", body)).text();
  const chunks = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) =>
    JSON.parse(data as string),
  );
  assert.is(
    chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
    "Look 1.\n\nLook 2.\n\nLook 3.\n\nLook 4.\n\n[Stopped: the limit of 4 steps was reached.]",
  );
});

test("errors of bad requests name the problem", async () => {
  for (const [body, status, expected] of [
    [{}, 400, "message"],
    [{ message: "" }, 400, "message"],
    [{ message: "hi", session: 5 }, 400, "session"],
    [{ message: "hi", agent: "nobody" }, 404, "agent"],
  ] as const) {
    const response = await g.request("POST", "/agent", body);
    assert.is(response.status, status);
    const { error } = (await response.json()) as { error: { param?: string } };
    assert.is(error.param, expected);
  }
  assert.is((await g.request("GET", "/sessions/nobody")).status, 404);
  assert.is((await g.request("GET", "/turns/turn_none")).status, 404);
  assert.is((await g.request("GET", "/sessions", undefined, { token: null })).status, 401);
});

test("the event feed shows turns, without secrets", async () => {
  const controller = new AbortController();
  const feed = await g.request("GET", "/events?name=agent:*", undefined, {
    signal: controller.signal,
  });
  let text = "";
  const reading = (async () => {
    for await (const chunk of feed.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString("utf8");
  })().catch(() => {});
  await until("the feed", () => text.includes(": "));
  await ask("watch me", {
    context: { apiKey: "sk-very-secret", cookies: [{ value: "sk-very-secret" }], plain: "visible" },
  });
  await until("the event", () => text.includes("event: agent:completed"));
  assert.match(text, /"plain":"visible"/);
  assert.not.match(text, /sk-very-secret/);
  assert.not.match(text, /event: message:/);
  controller.abort();
  await reading;
});

test("sessions are listed, shown and removed, and an event reports their end", async () => {
  const session = newSession();
  const deleted: string[] = [];
  const quiet = g.gateway.bus.on(
    "session:deleted",
    ({ context }) => void deleted.push(context.sessionId),
  );
  await ask("hello", { session });
  const { sessions } = await g.json<{ sessions: { id: string; messageCount: number }[] }>(
    "GET",
    "/sessions",
  );
  assert.is(sessions.find((each) => each.id === session)?.messageCount, 2);
  assert.is((await g.request("DELETE", `/sessions/${session}`)).status, 200);
  assert.is((await g.request("GET", `/sessions/${session}`)).status, 404);
  assert.is((await g.request("DELETE", `/sessions/${session}`)).status, 404);
  // Nobody waits for it; others, who remove the session's files, are told first.
  await until("the event", () => deleted.length > 0);
  assert.equal(deleted, [session]);
  await quiet();
});

test.run();
