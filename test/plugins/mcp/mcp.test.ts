import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
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
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit }) as never);
  return client;
}

const textOf = (result: unknown) => (result as { content: { text?: string }[] }).content.map(({ text }) => text).join();

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
    [{ name: "nobody" }, /no tool "nobody"/],
    [{ name: "hang" }, /did not answer within 50 ms/],
  ] as const) {
    const result = await mcp.callTool(call);
    assert.is(result.isError, true);
    assert.match(textOf(result), reason);
  }
});

test("nobody gets in without the token, and other methods are not allowed", async () => {
  gateway = await startGateway();
  const refused = await connect("wrong").catch((error: Error) => error);
  assert.instance(refused, Error);
  const get = await gateway.request("GET", "/mcp");
  assert.is(get.status, 405);
  assert.is(get.headers.get("allow"), "POST");
});

test("the tools of an MCP server come to the agent, fail in words, and come back with it", async () => {
  gateway = await startGateway({
    config: {
      mcp: {
        servers: {
          sums: {
            command: process.execPath,
            args: ["--import", import.meta.resolve("tsx"), join(import.meta.dirname, "stdio-server.ts")],
          },
        },
      },
    },
    env: { PORTICO_CANARY: "secret" },
  });
  const connected = () =>
    until("the server", async () => {
      const [server] = (await gateway.json("GET", "/mcp/servers")).servers;
      return server.state === "connected" && server;
    });
  assert.equal((await connected()).tools, ["sums_add", "sums_fail", "sums_leave", "sums_secret"]);
  const mcp = await connect();
  assert.is(textOf(await mcp.callTool({ name: "sums_add", arguments: { a: 2, b: 3 } })), "5");
  const failed = await mcp.callTool({ name: "sums_fail" });
  assert.is(failed.isError, true);
  assert.is(textOf(failed), "it is broken");
  assert.not.match(textOf(await mcp.callTool({ name: "sums_secret" })), /PORTICO_CANARY/);

  await mcp.callTool({ name: "sums_leave" });
  await until("the loss", async () => (await gateway.json("GET", "/mcp/servers")).servers[0].state !== "connected");
  await connected();
  assert.is(textOf(await mcp.callTool({ name: "sums_add", arguments: { a: 4, b: 3 } })), "7");
});

test("servers of the configuration come and go while the gateway runs", async () => {
  gateway = await startGateway();
  await gateway.gateway.config.set("mcp.servers", { gone: { command: "/nowhere/at-all" } });
  const server = await until("its error", async () => {
    const [one] = (await gateway.json("GET", "/mcp/servers")).servers;
    return one?.error && one;
  });
  assert.is(server.name, "gone");
  await gateway.gateway.config.set("mcp.servers", {});
  assert.equal(await gateway.json("GET", "/mcp/servers"), { servers: [] });
});

test.run();
