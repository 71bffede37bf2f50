/** The offers of connected MCP servers, as MCP clients and models receive them through a real server and `/mcp`. */
import { join } from "node:path";
import * as assert from "uvu/assert";
import type { ChatRequest } from "portico/provider";
import { program } from "../../support/runner/bundle.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { call, type ScriptedGateway, scriptedGateway } from "../agent/scripted.ts";

const test = suite("mcp pass-through");
let g: ScriptedGateway;

const full = (name: string) => ({
  command: process.execPath,
  args: [...program(join(import.meta.dirname, "full-server.program.ts")), name],
});

test.before(async () => {
  g = await scriptedGateway({
    config: { mcp: { servers: { one: full("one"), two: full("two") } } },
  });
  await until("both servers", async () => {
    const { servers } = await g.json("GET", "/mcp/servers");
    return servers.every(({ state }: { state: string }) => state === "connected");
  });
});
test.after(() => g?.stop());

const accept = { accept: "application/json, text/event-stream" };
async function post(body: unknown) {
  const response = await g.request("POST", "/mcp", body, { headers: accept });
  return { status: response.status, text: await response.text() };
}
/** All messages that follow one request, as JSON or as a stream: the last is the response. */
async function messagesOf(method: string, params: object): Promise<Record<string, any>[]> {
  const { text } = await post({ jsonrpc: "2.0", id: 1, method, params });
  if (text.startsWith("{")) return [JSON.parse(text)];
  return text.match(/^data: .+$/gm)?.map((line) => JSON.parse(line.slice(6))) ?? [];
}
async function rpc(method: string, params: object = {}): Promise<Record<string, any>> {
  return (await messagesOf(method, params)).at(-1) ?? {};
}
const result = async (method: string, params: object = {}) => (await rpc(method, params))["result"];

test("MCP clients receive every part of a result unchanged, and the tool with all of its members", async () => {
  const { tools } = await result("tools/list");
  const listed = tools.find(({ name }: { name: string }) => name === "one_everything");
  assert.equal(listed.annotations, { title: "Everything", readOnlyHint: true, unknownHint: 1 });
  assert.equal([listed.title, listed.outputSchema.type], ["Everything", "object"]);
  assert.is(listed.icons.length, 1);
  const toolResult = await result("tools/call", { name: "one_everything", arguments: {} });
  assert.equal(
    toolResult.content.map(({ type }: { type: string }) => type),
    ["text", "image", "audio", "resource", "resource", "resource", "resource_link"],
  );
  assert.equal(toolResult.content[0], {
    type: "text",
    text: "words",
    annotations: { audience: ["user"], priority: 0.5 },
    extra: 1,
  });
  assert.is(toolResult.content[2].mimeType, "audio/wav");
  assert.is(toolResult.content[5].resource.blob, "AAAA");
  assert.is(toolResult.content[6].uri, "test://d");
  assert.equal(toolResult.structuredContent, { count: 7 });
  assert.equal(toolResult._meta, { "example.org/kept": true });
  const failed = await result("tools/call", { name: "one_error_handling" });
  assert.equal([failed.isError, failed.content.length], [true, 2]);
});

test("a model receives images as images, and the rest as fenced text", async () => {
  let modelRequest: ChatRequest | undefined;
  g.script((request) => {
    if (request.messages.at(-1)?.role === "user" && !modelRequest && request.messages.length < 4)
      return call("one_everything", {});
    modelRequest = request;
    return "done";
  });
  await g.json("POST", "/agent", { message: "everything", session: "parts", wait: true });
  const tool = modelRequest?.messages.find(({ role }) => role === "tool");
  const pictures = modelRequest?.messages.at(-1)?.content as {
    type: string;
    image_url?: { url: string };
  }[];
  assert.equal(
    pictures.map(({ type }) => type),
    ["text", "image_url", "image_url"],
  );
  assert.match(pictures[1]?.image_url?.url ?? "", /^data:image\/png;base64,iVBOR/);
  const words = String(tool?.content);
  for (const word of [
    /UNTRUSTED/,
    /words/,
    /audio\/wav, \d+ bytes/,
    /embedded words/,
    /test:\/\/b/,
  ])
    assert.match(words, word);
  assert.match(words, /application\/pdf, 3 bytes/);
  assert.match(words, /linked, test:\/\/d/);
});

test("arguments that do not fit the server's schema are not sent", async () => {
  const strict = async (args: object) =>
    result("tools/call", { name: "one_strict", arguments: args });
  const fine = await strict({ name: "ada", kind: "small", address: { street: "x" } });
  assert.not(fine.isError);
  assert.match(fine.content[0].text, /"ada"/);
  for (const [args, reason] of [
    [{}, /name/],
    [{ name: 1 }, /name/],
    [{ name: "ADA" }, /name/],
    [{ name: "ada", kind: "medium" }, /kind/],
    [{ name: "ada", other: 1 }, /other/],
    [{ name: "ada", address: { street: 1 } }, /street/],
  ] as const) {
    const refused = await strict(args);
    assert.is(refused.isError, true, JSON.stringify(args));
    assert.match(refused.content[0].text, reason);
  }
});

test("patterns of a schema are matched in linear time, and patterns with lookahead are left to the server", async () => {
  const call = (args: object) =>
    result("tools/call", { name: "two_strict", arguments: { name: "ada", ...args } });
  assert.is((await call({ slow: `${"a".repeat(60)}b` })).isError, true);
  assert.is((await call({ optional: `${"a".repeat(300)}b` })).isError, true);
  assert.not((await call({ slow: "a".repeat(60), optional: "a".repeat(300) })).isError);
  assert.not((await call({ ahead: "y" })).isError);
});

test("invalid JSON, invalid JSON-RPC, unknown methods and unknown tools have the protocol's codes", async () => {
  const codeOf = ({ text }: { text: string }) => JSON.parse(text).error.code;
  const broken = await post("{oops");
  assert.equal([broken.status, codeOf(broken)], [400, -32700]);
  assert.is(JSON.parse(broken.text).id, null);
  for (const body of [{ hello: 1 }, [], { jsonrpc: "1.0", id: 1, method: "ping" }])
    assert.is(codeOf(await post(body)), -32600, JSON.stringify(body));
  assert.is((await rpc("tools/none"))["error"].code, -32601);
  const unknown = await rpc("tools/call", { name: "nobody" });
  assert.equal([unknown["id"], unknown["error"].code], [1, -32602]);
  assert.is((await rpc("prompts/get", { name: "nobody" }))["error"].code, -32602);
  assert.is((await rpc("resources/read", { uri: "other://nothing" }))["error"].code, -32002);
});

test("prompts of two servers have distinct names", async () => {
  const { prompts } = await result("prompts/list");
  const names = prompts.map(({ name }: { name: string }) => name);
  assert.is(new Set(names).size, 8);
  assert.ok(names.includes("one_simple_prompt") && names.includes("two_simple_prompt"));
  const prompt = await result("prompts/get", {
    name: "two_prompt_with_arguments",
    arguments: { arg1: "x", arg2: "y" },
  });
  assert.match(prompt.messages[0].content.text, /arg1='x', arg2='y'/);
});

test("resources can be listed and read, and those with the same URI by the server's name", async () => {
  const { resources } = await result("resources/list");
  const uris = resources.map(({ uri }: { uri: string }) => uri);
  assert.is(new Set(uris).size, 4);
  const read = async (uri: string) => (await result("resources/read", { uri })).contents[0];
  assert.is((await read("test://static-text")).text, "the text of one");
  assert.is((await read("portico://two/test://static-text")).text, "the text of two");
  assert.ok(uris.includes("portico://two/test://static-text"));
  assert.match((await read("test://static-binary")).blob, /^iVBOR/);
  const { resourceTemplates: templates } = await result("resources/templates/list");
  assert.equal(
    templates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate),
    ["test://template/{id}/data", "portico://two/test://template/{id}/data"],
  );
  assert.match((await read("test://template/123/data")).text, /"123","owner":"one"/);
  assert.match((await read("portico://two/test://template/5/data")).text, /"5","owner":"two"/);
});

test("completion asks the server of the prompt or template", async () => {
  const complete = async (ref: object) =>
    (await result("completion/complete", { ref, argument: { name: "a", value: "b" } })).completion
      .values;
  assert.equal(await complete({ type: "ref/prompt", name: "two_prompt_with_arguments" }), [
    "two:prompt_with_arguments",
  ]);
  assert.equal(await complete({ type: "ref/resource", uri: "test://template/{id}/data" }), [
    "one:test://template/{id}/data",
  ]);
});

test("progress of a call reaches a client that requests it", async () => {
  const messages = await messagesOf("tools/call", {
    name: "one_tool_with_progress",
    _meta: { progressToken: "mine" },
  });
  assert.equal(
    messages.map(({ params }) => params?.progress),
    [0, 50, 100, undefined],
  );
  assert.is(messages[0]?.["params"].progressToken, "mine");
  assert.is(messages.at(-1)?.["id"], 1);
});

test("log messages of a server during a call reach the client, from the level that the client sets", async () => {
  const logged = async () =>
    (await messagesOf("tools/call", { name: "one_tool_with_logging" })).flatMap(
      ({ params }) => params?.data ?? [],
    );
  assert.equal(await logged(), []);
  assert.is((await rpc("logging/setLevel", { level: "loud" }))["error"].code, -32602);
  assert.equal(await result("logging/setLevel", { level: "debug" }), {});
  assert.equal(await logged(), ["started", "processing", "completed"]);
});

test.run();
