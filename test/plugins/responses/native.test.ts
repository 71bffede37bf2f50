/** Channels that speak the Responses format themselves: requests and responses go through as they are. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import * as zlib from "node:zlib";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { completion } from "../../support/upstreams/upstream.ts";
import { suite } from "../../support/suite.ts";

const test = suite("responses native");
let gateway: InProcessGateway;
let server: Server;
let requests: { path: string; headers: IncomingHttpHeaders; body: any }[] = [];
/** The upstream's next response. */
let output: object[] = [];
let failure: object | undefined;

const message = (text: string) => ({
  id: "msg_up1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [], made_up: 1 }],
});
const reasoning = { id: "rs_up1", type: "reasoning", summary: [], encrypted_content: "gAAAA" };
const search = { id: "ws_up1", type: "web_search_call", status: "completed", action: {} };

/** Throws an error for a request that the real API would refuse. */
function judge(body: any): void {
  const refuse = (why: string) => {
    throw new Error(why);
  };
  if (body.previous_response_id != null) refuse("Previous response not found.");
  if (body.model === "gpt-4o" && body.include?.includes("reasoning.encrypted_content"))
    refuse("Encrypted content is not supported with this model.");
  for (const item of body.input) {
    if (String(item.encrypted_content).startsWith("portico."))
      refuse("The encrypted content could not be verified.");
    if (item.type === "reasoning" && item.encrypted_content == null)
      refuse(`Item with id '${item.id}' not found.`);
    if (item.type === "item_reference") refuse("Items are not persisted when store is false.");
  }
}

function responseObject(body: any, status: string, items: object[]): object {
  return {
    ...{ id: "resp_upstream", object: "response", created_at: 1, status, model: "gpt-real" },
    ...{ output: items, store: body.store, tools: body.tools ?? [], previous_response_id: null },
    ...{ unknown_member: { big: 1 }, error: null },
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 27,
    },
  };
}

function eventsOf(body: any): string {
  const events: any[] = [
    { type: "response.created", response: responseObject(body, "in_progress", []) },
    { type: "response.in_progress", response: responseObject(body, "in_progress", []) },
  ];
  for (const [i, item] of (output as any[]).entries()) {
    const place = { item_id: item.id, output_index: i };
    events.push({ type: "response.output_item.added", output_index: i, item });
    for (const text of item.content === undefined ? [] : item.content[0].text.split(/(?<= )/)) {
      const at = { ...place, content_index: 0 };
      events.push({ type: "response.output_text.delta", ...at, delta: text, obfuscation: "x" });
    }
    if (item.content !== undefined)
      events.push({
        ...{ type: "response.output_text.done", ...place, content_index: 0 },
        text: item.content[0].text,
      });
    if (item.type === "web_search_call")
      events.push({ type: "response.web_search_call.searching", ...place });
    events.push({ type: "response.output_item.done", output_index: i, item });
  }
  if (failure === undefined)
    events.push({
      type: "response.completed",
      response: responseObject(body, "completed", output),
    });
  else
    events.push({
      type: "response.failed",
      response: { ...responseObject(body, "failed", []), error: failure },
    });
  return events
    .map((event, number) => {
      const data = JSON.stringify({ ...event, sequence_number: number });
      return `event: ${event.type}\ndata: ${data}\n\n`;
    })
    .join("");
}

/** For a stream, the response is its text. */
function answerOf(path: string, body: any): { status: number; answer: object | string } {
  if (path === "/v1/chat/completions") return { status: 200, answer: completion("By chat") };
  try {
    judge(body);
  } catch (refusal) {
    const { message } = refusal as Error;
    const error = { message, type: "invalid_request_error", param: null, code: null };
    return { status: 400, answer: { error } };
  }
  return { status: 200, answer: acceptedAnswer(path, body) };
}

function acceptedAnswer(path: string, body: any): object | string {
  if (path.includes("/input_tokens")) return { object: "response.input_tokens", input_tokens: 42 };
  if (path.includes("/compact"))
    return {
      ...{ id: "resp_c", object: "response.compaction", created_at: 1, unknown_member: 1 },
      output: [{ id: "cmp_up", type: "compaction", encrypted_content: "gBBBB" }],
      usage: { input_tokens: 9, output_tokens: 1, total_tokens: 10 },
    };
  return body.stream ? eventsOf(body) : responseObject(body, "completed", output);
}

test.before(async () => {
  server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const body = JSON.parse(Buffer.concat(parts).toString("utf8"));
      requests.push({ path: req.url ?? "", headers: req.headers, body });
      const { status, answer: upstreamBody } = answerOf(req.url!, body);
      const isStream = typeof upstreamBody === "string";
      const type = isStream ? "text/event-stream" : "application/json";
      res.writeHead(status, { "content-type": type });
      res.end(isStream ? upstreamBody : JSON.stringify(upstreamBody));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const channel = { apiKey: "secret-key-of-the-channel", maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        up: { provider: "openai", baseUrl: `${root}/v1`, responses: true, ...channel },
        az: { provider: "azure", baseUrl: root, ...channel },
        classic: { provider: "azure", baseUrl: root, apiVersion: "2025-04-01-preview", ...channel },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  server?.close();
});
test.before.each(() => {
  requests = [];
  output = [message("Hello there")];
  failure = undefined;
});

async function ask(body: object): Promise<{ status: number; headers: Headers; body: any }> {
  const request = { model: "up/gpt-5", input: "Hi", ...body };
  const response = await gateway.request("POST", "/v1/responses", request);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

async function stream(body: object): Promise<{ name: string; data: any }[]> {
  const streamRequest = { model: "up/gpt-5", input: "Hi", stream: true, ...body };
  const response = await gateway.request("POST", "/v1/responses", streamRequest);
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data:"));
  return blocks.map((block) => ({
    name: /^event: (.*)$/m.exec(block)![1]!,
    data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!),
  }));
}

test("a request and its response pass unchanged", async () => {
  const tools = [
    { type: "web_search", search_context_size: "low" },
    { type: "telepathy", x: 1 },
  ];
  output = [search, message("Hello there")];
  const { status, headers, body } = await ask({
    tools,
    tool_choice: { type: "web_search" },
    unknown_member: [1],
    input: [{ type: "message", role: "user", content: [{ type: "input_file", file_id: "f" }] }],
  });
  assert.is(status, 200);
  assert.equal([headers.get("x-portico-dropped"), headers.get("x-portico-model")], [null, "gpt-5"]);
  const sent = requests[0]!;
  assert.equal([sent.path, sent.body.model], ["/v1/responses", "gpt-5"]);
  assert.equal([sent.body.tools, sent.body.unknown_member], [tools, [1]]);
  assert.equal([sent.body.store, sent.body.include], [false, ["reasoning.encrypted_content"]]);
  assert.match(body.id, /^resp_[0-9a-f]{32}$/);
  assert.equal([body.store, body.unknown_member, body.output], [true, { big: 1 }, output]);
});

test("a stream passes event by event, with the gateway's own id and numbers", async () => {
  output = [search, message("Hello there")];
  const events = await stream({});
  for (const [i, { name, data }] of events.entries())
    assert.equal([data.type, data.sequence_number], [name, i]);
  assert.ok(events.some(({ name }) => name === "response.web_search_call.searching"));
  const delta = events.find(({ name }) => name === "response.output_text.delta")!.data;
  assert.equal([delta.delta, delta.obfuscation], ["Hello ", "x"]);
  const ids = new Set(events.flatMap(({ data }) => data.response?.id ?? []));
  assert.is(ids.size, 1);
  const last = events.at(-1)!;
  assert.is(last.name, "response.completed");
  assert.equal(last.data.response.output, output);
  const stored = await gateway.json("GET", `/v1/responses/${[...ids][0]}`);
  assert.equal(stored.output, output);
});

test("the gateway keeps the conversation, with its encrypted reasoning", async () => {
  output = [reasoning, message("One")];
  const first = (await ask({ input: "A" })).body;
  output = [message("Two")];
  const events = await stream({ input: "B", previous_response_id: first.id });
  const { input } = requests.at(-1)!.body;
  assert.equal(
    input.map((item: any) => item.type),
    ["message", "reasoning", "message", "message"],
  );
  assert.is(input[1].encrypted_content, "gAAAA");
  assert.is(events.at(-1)!.data.response.previous_response_id, first.id);
  const named = await ask({
    input: [
      { type: "item_reference", id: "msg_up1" },
      { role: "user", content: "C" },
    ],
  });
  assert.equal([named.status, requests.at(-1)!.body.input[0].type], [200, "message"]);
  const { id } = events.at(-1)!.data.response;
  for (const storedId of [id, named.body.id])
    await gateway.json("DELETE", `/v1/responses/${storedId}`);
  const response = await ask({ input: [{ type: "item_reference", id: "msg_up1" }] });
  assert.equal([response.status, response.body.error.param], [400, "input[0].id"]);
});

test("a conversation that began on another channel continues here, without the items that only the gateway can read", async () => {
  const sealed = `portico.${Buffer.from("{}").toString("base64url")}`;
  const { status } = await ask({
    input: [
      { role: "user", content: "A" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealed },
      { type: "reasoning", id: "rs_2", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "B" }] },
    ],
  });
  assert.equal([status, requests.at(-1)!.body.input.length], [200, 2]);
});

test("members that the gateway adds do not make a request fail", async () => {
  const { status, body } = await ask({ model: "up/gpt-4o" });
  assert.is(status, 200);
  assert.equal(
    requests.map((request) => request.body.include),
    [["reasoning.encrypted_content"], undefined],
  );
  assert.is(body.output[0].content[0].text, "Hello there");
  const response = await ask({ model: "up/gpt-4o", include: ["reasoning.encrypted_content"] });
  assert.is(response.status, 400);
});

test("usage is counted; secrets of the channel are hidden, also where events repeat them", async () => {
  output = [message("It is secret-key-of-the-channel indeed")];
  const events = await stream({});
  assert.not.match(JSON.stringify(events), /secret-key-of-the-channel/);
  const deltas = events.filter(({ name }) => name === "response.output_text.delta");
  const text = deltas.map(({ data }) => data.delta).join("");
  assert.match(text, /^It is .* indeed$/);
  assert.is(events.at(-1)!.data.response.output[0].content[0].text, text);
  for (const [i, { data }] of events.entries()) assert.is(data.sequence_number, i);
  const whole = await ask({});
  assert.not.match(JSON.stringify(whole.body), /secret-key-of-the-channel/);
  assert.is(whole.body.usage.input_tokens, 20);
});

test("a failure in the stream keeps its code", async () => {
  failure = { code: "rate_limit_exceeded", message: "slow down" };
  const last = (await stream({})).at(-1)!;
  assert.equal(
    [last.name, last.data.response.error.code],
    ["response.failed", "rate_limit_exceeded"],
  );
});

test("requests to Azure go to its own addresses", async () => {
  await ask({ model: "az/dep" });
  await ask({ model: "classic/dep" });
  assert.equal(
    requests.map(({ path, body }) => [path, body.model]),
    [
      ["/openai/v1/responses", "dep"],
      ["/openai/responses?api-version=2025-04-01-preview", "dep"],
    ],
  );
  assert.is(requests[0]!.headers["api-key"], "secret-key-of-the-channel");
});

test("tokens are counted, and conversations compacted, by the upstream", async () => {
  const counted = await gateway.json("POST", "/v1/responses/input_tokens", {
    model: "up/gpt-5",
    input: "Hi",
  });
  assert.equal([counted.input_tokens, requests[0]!.path], [42, "/v1/responses/input_tokens"]);
  const compacted = await gateway.json("POST", "/v1/responses/compact", {
    model: "up/gpt-5",
    input: "Hi",
    stream: false,
  });
  assert.is(requests[1]!.path, "/v1/responses/compact");
  assert.equal(Object.keys(requests[1]!.body).sort(), ["input", "model"]);
  assert.equal([compacted.unknown_member, compacted.output[0].encrypted_content], [1, "gBBBB"]);
  const input = [compacted.output[0], { role: "user", content: "Go on" }];
  await ask({ input });
  assert.equal(requests.at(-1)!.body.input, input);
});

test("where hooks put texts in front of what leaves, the request is translated", async () => {
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const up = { provider: "openai", baseUrl, responses: true, apiKey: "k", maxRetries: 0 };
  const hook = hookFiles("greeter", "event.messages.push('Welcome.');");
  const other = await startGateway({ config: { channels: { up } }, files: hook });
  try {
    const request = { model: "up/gpt-5", input: "Hi" };
    const response = await other.json("POST", "/v1/responses", request);
    assert.is(requests[0]!.path, "/v1/chat/completions");
    assert.is(response.output[0].content[0].text, "Welcome.\n\nBy chat");
    const tools = [{ type: "web_search" }];
    const forced = { ...request, tools, tool_choice: { type: "web_search" } };
    assert.is((await other.request("POST", "/v1/responses", forced)).status, 400);
  } finally {
    await other.stop();
  }
});

const call = (id: string, call_id: string) => ({
  ...{ id, type: "function_call", call_id, name: "calc" },
  ...{ arguments: "{}", status: "completed", made_up: 1 },
});

/** The id of each call, from all events or the whole response that name it. */
function callIdsOf(items: any[]): Set<string>[] {
  const ids = new Map<string, Set<string>>();
  for (const { id, call_id } of items) ids.set(id, (ids.get(id) ?? new Set()).add(call_id));
  return [...ids.values()];
}

test("an id of a call that the conversation or the response holds already is replaced everywhere", async () => {
  output = [
    message("Hello"),
    call("fc_1", "call_0"),
    call("fc_2", "call_1"),
    call("fc_3", "call_1"),
  ];
  const input = [
    { type: "message", role: "user", content: "Hi" },
    { type: "function_call", call_id: "call_0", name: "calc", arguments: "{}" },
    { type: "function_call_output", call_id: "call_0", output: "r" },
  ];
  const whole = await ask({ input });
  const events = await stream({ input });
  const streamed = events.flatMap(({ data }) => data.item ?? data.response?.output ?? []);
  for (const items of [whole.body.output, streamed]) {
    const calls = items.filter(({ type }: any) => type === "function_call");
    const [first, second, third] = callIdsOf(calls);
    for (const ids of [first, second, third]) assert.is(ids!.size, 1, "one id throughout");
    assert.not.ok(first!.has("call_0"));
    assert.ok(second!.has("call_1"), "an id that is new stays");
    assert.not.ok(third!.has("call_1"));
    for (const { made_up } of calls) assert.is(made_up, 1);
  }
});

test("an upstream that counts its calls from 0 in each response gets ids that differ", async () => {
  output = [call("fc_1", "call_0")];
  const first = await ask({});
  const next = { type: "function_call_output", call_id: "call_0", output: "r" };
  const second = await ask({ previous_response_id: first.body.id, input: [next] });
  assert.equal([first.body.output[0].call_id, second.status], ["call_0", 200]);
  assert.is.not(second.body.output[0].call_id, "call_0");
});

test("compressed requests are read", async () => {
  const json = Buffer.from(JSON.stringify({ model: "up/gpt-5", input: "Hi" }));
  const zstd = (zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync;
  const bodies: [string, Buffer][] = [["gzip", gzipSync(json)]];
  if (zstd !== undefined) bodies.push(["zstd", zstd(json)]);
  for (const [coding, body] of bodies) {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.token}`,
        "content-type": "application/json",
        "content-encoding": coding,
      },
      body: new Uint8Array(body),
    });
    assert.is(response.status, 200, coding);
  }
});

test.run();
