/** Tools of the Responses format that coding agents send, over channels that know functions only. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { openai } from "../../support/upstreams/openai.ts";
import { type FakeProvider, startProvider } from "../../support/upstreams/server.ts";
import { readNamedEvents } from "../../support/chunks.ts";

const test = suite("responses tools");
let gateway: InProcessGateway;
let up: FakeProvider;

test.before(async () => {
  up = await startProvider(openai);
  gateway = await startGateway({
    config: { channels: { up: { ...openai.channel(up.root), maxRetries: 0 } } },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.views.length = 0;
  up.seen.length = 0;
  up.next = { answer: { text: ["Hello"] } };
});

const user = (text: string) => ({
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }],
});
const parameters = { type: "object", properties: { q: { type: "string" } } };
const fn = (name: string, more: object = {}) => ({ type: "function", name, parameters, ...more });

interface Answer {
  status: number;
  dropped: string | null;
  body: any;
}

async function ask(body: object): Promise<Answer> {
  const request = { model: "up/gpt-4o", input: [user("hi")], store: false, ...body };
  const response = await gateway.request("POST", "/v1/responses", request);
  const dropped = response.headers.get("x-portico-dropped");
  return { status: response.status, dropped, body: await response.json() };
}

async function stream(body: object): Promise<any[]> {
  const streamRequest = { model: "up/gpt-4o", input: [user("hi")], stream: true, ...body };
  const response = await gateway.request("POST", "/v1/responses", streamRequest);
  return readNamedEvents(await response.text());
}

/** The function that the upstream received for the only tool. */
const offered = () => up.seen.at(-1)!.body.tools.map((tool: any) => tool.function.name);

/** A model that calls the only function which it is offered. */
async function callOnly(
  tools: object[],
  args: Record<string, unknown>,
): Promise<{ whole: any; events: any[] }> {
  await ask({ tools });
  up.next = { answer: { calls: [{ id: "call_a", name: offered()[0], args }] } };
  const { body } = await ask({ tools });
  return { whole: body.output[0], events: await stream({ tools }) };
}

test("tools of a namespace are functions, and their calls name it again", async () => {
  const tools = [
    { type: "namespace", name: "mcp__files", tools: [fn("read"), fn("write")] },
    { type: "namespace", name: "mcp__mail", description: "Mail", tools: [fn("read")] },
    fn("read"),
  ];
  await ask({ tools });
  assert.equal(offered(), ["mcp__files__read", "mcp__files__write", "mcp__mail__read", "read"]);
  up.next = { answer: { calls: [{ id: "call_a", name: "mcp__mail__read", args: { q: "x" } }] } };
  const { body } = await ask({ tools });
  const call = body.output[0];
  assert.equal(
    [call.type, call.name, call.namespace, call.arguments],
    ["function_call", "read", "mcp__mail", '{"q":"x"}'],
  );
  const added = (await stream({ tools })).find(
    (event) => event.type === "response.output_item.added",
  );
  assert.equal([added.item.name, added.item.namespace], ["read", "mcp__mail"]);
  const output = { type: "function_call_output", call_id: "call_a", output: "done" };
  await ask({ tools, input: [user("hi"), call, output] });
  const { turns } = up.views.at(-1)!;
  assert.is(turns[1]!.calls[0]!.name, "mcp__mail__read");
  assert.equal(turns[2]!.results, [{ id: "call_a", text: "done" }]);
});

test("names of functions are unique and of 64 characters at most", async () => {
  const long = "n".repeat(60);
  const tools = [
    fn("a__b"),
    { type: "namespace", name: "a", tools: [fn("b")] },
    { type: "namespace", name: long, tools: [fn("one"), fn("onf"), fn("öne.two")] },
  ];
  await ask({ tools });
  const names = offered();
  assert.is(names[0], "a__b");
  assert.is(new Set(names).size, 5);
  for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  for (const [i, name, namespace] of [
    [1, "b", "a"],
    [3, "onf", long],
    [4, "öne.two", long],
  ] as const) {
    up.next = { answer: { calls: [{ name: names[i], args: {} }] } };
    const { output } = (await ask({ tools })).body;
    assert.equal([output[0].name, output[0].namespace], [name, namespace]);
  }
});

test("items that bring further tools make them callable", async () => {
  const input = [
    { type: "additional_tools", role: "developer", tools: [fn("extra"), { type: "web_search" }] },
    user("hi"),
  ];
  const { status, dropped } = await ask({ tools: [fn("own")], input });
  assert.equal([status, dropped, offered()], [200, "input[0].tools[1]", ["own", "extra"]]);
});

test("a search for tools is the client's function; what it finds can be called", async () => {
  const search = { type: "tool_search", execution: "client", description: "Find", parameters };
  const hidden = { type: "namespace", name: "mcp__x", tools: [fn("run", { defer_loading: true })] };
  const { whole, events } = await callOnly([search, hidden], { q: "run" });
  assert.equal(offered(), ["tool_search"]);
  assert.equal(
    [whole.type, whole.execution, whole.call_id, whole.arguments, whole.status],
    ["tool_search_call", "client", "call_a", { q: "run" }, "completed"],
  );
  const types = events.map((event) => event.type).slice(2);
  assert.equal(types, [
    "response.output_item.added",
    "response.output_item.done",
    "response.completed",
  ]);
  const result = {
    type: "tool_search_output",
    call_id: "call_a",
    execution: "client",
    status: "completed",
    tools: [hidden],
  };
  await ask({ tools: [search, hidden], input: [user("hi"), whole, result] });
  assert.equal(offered(), ["tool_search", "mcp__x__run"]);
  assert.match(up.views.at(-1)!.turns[2]!.results[0]!.text, /mcp__x__run/);
  // OpenAI runs the search itself: all tools are there from the start.
  const hosted = await ask({ tools: [{ type: "tool_search" }, hidden] });
  assert.equal([hosted.dropped, offered()], ["tools[0]", ["mcp__x__run"]]);
});

test("a shell on the client's side is a function, whole and streamed, and back", async () => {
  const command = ["bash", "-lc", "ls"];
  const { whole, events } = await callOnly([{ type: "local_shell" }], { command, timeout_ms: 5 });
  assert.is(whole.type, "local_shell_call");
  assert.equal(whole.action, { type: "exec", command, env: {}, timeout_ms: 5 });
  const done = events.find((event) => event.type === "response.output_item.done");
  assert.equal(done.item.action, whole.action);
  for (const output of [
    { type: "local_shell_call_output", id: "call_a", output: "a.txt" },
    { type: "function_call_output", call_id: "call_a", output: "a.txt" },
  ]) {
    const { status } = await ask({
      tools: [{ type: "local_shell" }],
      input: [user("hi"), whole, output],
    });
    const { turns } = up.views.at(-1)!;
    assert.is(status, 200);
    assert.equal((turns[1]!.calls[0]!.args as { command: string[] }).command, command);
    assert.equal(turns[2]!.results, [{ id: "call_a", text: "a.txt" }]);
  }

  const shell = await callOnly([{ type: "shell" }], { commands: ["ls"] });
  assert.equal([shell.whole.type, shell.whole.action.commands], ["shell_call", ["ls"]]);
  const result = { stdout: "a.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } };
  const output = { type: "shell_call_output", call_id: "call_a", output: [result] };
  await ask({ tools: [{ type: "shell" }], input: [user("hi"), shell.whole, output] });
  assert.match(up.views.at(-1)!.turns[2]!.results[0]!.text, /^a\.txt\n\(exit code 0\)$/);
});

test("the client applies a patch", async () => {
  const operation = { type: "create_file", path: "a", diff: "+x" };
  const { whole } = await callOnly([{ type: "apply_patch" }], operation);
  assert.equal([whole.type, whole.operation], ["apply_patch_call", operation]);
  const output = {
    type: "apply_patch_call_output",
    call_id: "call_a",
    status: "failed",
    output: "no",
  };
  await ask({ tools: [{ type: "apply_patch" }], input: [user("hi"), whole, output] });
  assert.is(up.views.at(-1)!.turns[2]!.results[0]!.text, "failed: no");
});

test("tools that OpenAI runs are left out and named, unless the choice forces one", async () => {
  const hosted = [
    { type: "web_search", external_web_access: false },
    { type: "web_search_preview_2025_03_11" },
    { type: "image_generation" },
    { type: "file_search", vector_store_ids: [] },
    { type: "code_interpreter", container: { type: "auto" } },
    { type: "computer_use_preview" },
    { type: "mcp", server_label: "s", server_url: "https://example.com" },
    { type: "shell", environment: { type: "container_auto" } },
  ];
  const { status, dropped } = await ask({ tools: [fn("own"), ...hosted], tool_choice: "auto" });
  assert.is(status, 200);
  assert.is(dropped, hosted.map((_, i) => `tools[${i + 1}]`).join(", "));
  assert.equal(offered(), ["own"]);
  for (const choice of [{ type: "web_search" }, { type: "mcp", server_label: "s" }]) {
    const forced = await ask({ tools: [fn("own"), ...hosted], tool_choice: choice });
    assert.equal([forced.status, forced.body.error.param], [400, "tool_choice"]);
  }
  const only = await ask({ tools: hosted, tool_choice: "required" });
  assert.equal([only.status, only.body.error.param], [400, "tool_choice"]);
  const some = {
    type: "allowed_tools",
    mode: "auto",
    tools: [hosted[0], { type: "function", name: "own" }],
  };
  const allowed = await ask({ tools: [fn("own"), hosted[0]], tool_choice: some });
  assert.equal([allowed.status, allowed.dropped], [200, "tools[1], tool_choice.tools[0]"]);
});

test("items that only record what OpenAI did are left out and named", async () => {
  const records = [
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
    { type: "image_generation_call", id: "ig_1", status: "completed", result: "AA" },
    { type: "file_search_call", id: "fs_1", queries: [], status: "completed" },
    { type: "code_interpreter_call", id: "ci_1", status: "completed", code: "1" },
    { type: "mcp_list_tools", id: "m_1", server_label: "s", tools: [] },
    { type: "mcp_call", id: "m_2", name: "n", arguments: "{}", server_label: "s" },
    { type: "tool_search_call", id: "t_1", execution: "server", arguments: {} },
    { type: "compaction", encrypted_content: "of another provider" },
  ];
  const assistantMessage = {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "A" }],
  };
  const { status, dropped } = await ask({
    input: [user("Q"), ...records, assistantMessage, user("R")],
  });
  assert.equal([status, dropped], [200, records.map((_, i) => `input[${i + 1}]`).join(", ")]);
  assert.equal(
    up.views.at(-1)!.turns.map(({ role, text }) => `${role}:${text}`),
    ["user:Q", "assistant:A", "user:R"],
  );
});

test("reasoning that another provider sealed is left out and named", async () => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA" };
  const include = ["reasoning.encrypted_content"];
  const { status, dropped } = await ask({ input: [user("Q"), reasoning, user("R")], include });
  assert.equal([status, dropped], [200, "input[1].encrypted_content"]);
});

test.run();
