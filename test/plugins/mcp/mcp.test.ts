import { getEventListeners } from "node:events";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { program } from "../../support/runner/bundle.ts";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { connect as openConnection } from "../../../plugins/mcp/connect.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { until } from "../../support/until.ts";

const test = suite("mcp");
let gateway: InProcessGateway;
let client: Client | undefined;
test.after.each(async () => {
  await client?.close();
  client = undefined;
  await gateway?.stop();
});

const greeter = `
  import { definePlugin, Type } from "portico";
  export default definePlugin({ name: "greeter", setup(ctx) {
    ctx.tool({
      name: "greet", description: "Greets somebody",
      parameters: Type.Object({ name: Type.String(), times: Type.Integer({ default: 1 }) }),
      handler: ({ name, times }) => ("hello " + name + " ").repeat(times).trim(),
    });
    ctx.tool({ name: "hang", description: "Hangs", parameters: Type.Object({}), timeoutMs: 50, handler: () => new Promise(() => {}) });
    ctx.tool({
      name: "draw", description: "Draws", parameters: Type.Object({}),
      handler: () => [{ type: "text", text: "a dot" }, { type: "image", mimeType: "image/png", data: "AAAA" }],
    });
  } });`;

async function connect(token = gateway.token): Promise<Client> {
  client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }) as never,
  );
  return client;
}

/** The server of `stdio-server.program.ts` with more tools. */
const server = (...tools: string[]) => ({
  command: process.execPath,
  args: [...program(join(import.meta.dirname, "stdio-server.program.ts")), ...tools],
});

interface Shown {
  name: string;
  state: string;
  error?: string;
  tools: string[];
}
const servers = async (): Promise<Shown[]> => (await gateway.json("GET", "/mcp/servers")).servers;
const connected = (): Promise<Shown> =>
  until("the server", async () => (await servers()).find(({ state }) => state === "connected"));

const textOf = (result: unknown) =>
  (result as { content: { text?: string }[] }).content.map(({ text }) => text).join();

test("an MCP client lists and calls the gateway's tools", async () => {
  gateway = await startGateway({ files: { "plugins/greeter/plugin.ts": greeter } });
  const mcp = await connect();
  const { tools } = await mcp.listTools();
  const greet = tools.find(({ name }) => name === "greet");
  assert.is(greet?.description, "Greets somebody");
  assert.equal(Object.keys(greet?.inputSchema.properties ?? {}), ["name", "times"]);
  const result = await mcp.callTool({ name: "greet", arguments: { name: "Ada", times: 2 } });
  assert.is(textOf(result), "hello Ada hello Ada");
  const drawn = (await mcp.callTool({ name: "draw" })) as { content: unknown[] };
  assert.equal(drawn.content, [
    { type: "text", text: "a dot" },
    { type: "image", mimeType: "image/png", data: "AAAA" },
  ]);
});

test("wrong arguments, an unknown tool and a tool that hangs are errors with a reason", async () => {
  gateway = await startGateway({ files: { "plugins/greeter/plugin.ts": greeter } });
  const mcp = await connect();
  for (const [call, reason] of [
    [{ name: "greet", arguments: {} }, /name is missing/],
    [{ name: "hang" }, /did not respond within 50 ms/],
  ] as const) {
    const result = await mcp.callTool(call);
    assert.is(result.isError, true);
    assert.match(textOf(result), reason);
  }
  const unknown = await mcp.callTool({ name: "nobody" }).catch((error: unknown) => error);
  assert.is((unknown as { code: unknown }).code, -32602);
});

test("requests without the token are refused, and other methods are not allowed", async () => {
  gateway = await startGateway();
  const refused = await connect("wrong").catch((error: Error) => error);
  assert.instance(refused, Error);
  const get = await gateway.request("GET", "/mcp");
  assert.is(get.status, 405);
  assert.is(get.headers.get("allow"), "POST");
});

test("the agent has the tools of an MCP server, receives their errors as text, and has them again after the server restarts", async () => {
  gateway = await startGateway({
    config: {
      mcp: {
        servers: {
          sums: server(),
        },
      },
    },
    env: { PORTICO_CANARY: "secret" },
  });
  assert.equal((await connected()).tools, ["sums_add", "sums_fail", "sums_leave", "sums_secret"]);
  const mcp = await connect();
  assert.is(textOf(await mcp.callTool({ name: "sums_add", arguments: { a: 2, b: 3 } })), "5");
  const failed = await mcp.callTool({ name: "sums_fail" });
  assert.is(failed.isError, true);
  assert.is(textOf(failed), "it is broken");
  assert.not.match(textOf(await mcp.callTool({ name: "sums_secret" })), /PORTICO_CANARY/);

  await mcp.callTool({ name: "sums_leave" });
  const again = { name: "sums_add", arguments: { a: 4, b: 3 } };
  await until("an answer of the next one", async () => textOf(await mcp.callTool(again)) === "7");
  assert.is((await connected()).error, undefined);
});

test("servers of the configuration can be added and removed while the gateway runs", async () => {
  gateway = await startGateway();
  await gateway.gateway.config.set("mcp.servers", { gone: { command: "/nowhere/at-all" } });
  const server = await until("its error", async () => {
    const [entry] = (await gateway.json("GET", "/mcp/servers")).servers;
    return entry?.error && entry;
  });
  assert.is(server.name, "gone");
  await gateway.gateway.config.unset("mcp.servers.gone");
  assert.equal(await gateway.json("GET", "/mcp/servers"), { servers: [] });
});

test("tools keep their capitals, and equal or too long names remain distinct", async () => {
  const long = "list".repeat(20);
  const tools = ["createIssue", "read-file", "a.b", "a/b", `${long}One`, `${long}Two`];
  gateway = await startGateway({
    config: { mcp: { servers: { GitHub: { ...server(...tools), tools } } } },
  });
  const names = (await connected()).tools;
  assert.equal(names.slice(0, 3), ["GitHub_createIssue", "GitHub_read-file", "GitHub_a_b"]);
  assert.is(new Set(names).size, tools.length);
  assert.ok(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)));
  const mcp = await connect();
  for (const [i, name] of names.entries())
    assert.is(textOf(await mcp.callTool({ name })), tools[i]);
});

test("a change with an invalid server is refused and changes nothing", async () => {
  const old = { command: "/nowhere/old" };
  gateway = await startGateway({ config: { mcp: { servers: { one: old } } } });
  const error = await until("its error", async () => (await servers())[0]?.error);
  const both = { command: "/nowhere/at-all", url: "http://127.0.0.1:9/mcp" };
  const refused = await gateway.gateway.config
    .set("mcp.servers", { one: { command: "/nowhere/new" }, two: both })
    .then(
      () => undefined,
      (failure: Error) => failure,
    );
  assert.match(refused?.message ?? "", /mcp\.servers\.two needs either command or url/);
  assert.match(error, "/nowhere/old");
  const after = await servers();
  assert.equal(
    after.map(({ name, error: problem }) => [name, problem]),
    [["one", error]],
  );
});

test("an invalid server at the start is named and does not affect the rest", async () => {
  gateway = await startGateway({ config: { mcp: { servers: { none: {}, sums: server() } } } });
  assert.is((await connected()).name, "sums");
  const none = (await servers()).find(({ name }) => name === "none");
  assert.is(none?.state, "wrong");
  assert.match(none?.error ?? "", /mcp\.servers\.none.*command.*url/);
  const ready = await gateway.request("GET", "/ready");
  assert.is(ready.status, 503);
  assert.equal(((await ready.json()) as { plugins: string[] }).plugins, ["mcp"]);
  const { notReady } = await gateway.json("GET", "/kernel/status");
  assert.match(JSON.stringify(notReady), /mcp\.servers\.none/);
  assert.is(
    textOf(await (await connect()).callTool({ name: "sums_add", arguments: { a: 1, b: 1 } })),
    "2",
  );
  await gateway.gateway.config.set("mcp.servers.sums.tools", []);
  assert.is(
    (await servers()).find(({ name }) => name === "none")?.state,
    "wrong",
    "and bars no change of another",
  );
  await gateway.gateway.config.unset("mcp.servers.none");
  await gateway.gateway.config.set("mcp.servers.sums", server());
  assert.is((await gateway.request("GET", "/ready")).status, 200);
});

test("a failed connection leaves no listener on its abort signal", async () => {
  const { signal } = new AbortController();
  const server = {
    command: "/nowhere/at-all",
    args: [],
    env: {},
    headers: {},
    timeoutMs: 1_000,
    maxResponseBytes: 1_000_000,
    enabled: true,
  };
  const options = {
    name: "gone",
    server,
    version: "1",
    log: quietLog([]),
    addTool: () => () => {},
    onTools: () => {},
  };
  for (let i = 0; i < 3; i++)
    assert.instance(await openConnection({ ...options, signal }).catch((e) => e), Error);
  assert.is(getEventListeners(signal, "abort").length, 0);
});

test.run();
