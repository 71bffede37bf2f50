/** Sessions of MCP clients: requests of a connected server during a call, and notifications. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { program } from "../../support/runner/bundle.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("mcp sessions");
let gateway: InProcessGateway;
const clients: Client[] = [];

test.before(async () => {
  const full = program(join(import.meta.dirname, "full-server.program.ts"));
  const server = { command: process.execPath, args: [...full, "test"] };
  gateway = await startGateway({ config: { mcp: { servers: { test: server } } } });
  await untilConnected();
});
test.after.each(async () => {
  for (const client of clients.splice(0)) await client.close();
});
test.after(() => gateway?.stop());

const untilConnected = () =>
  until("the server", async () => {
    const { servers } = await gateway.json("GET", "/mcp/servers");
    return servers[0].state === "connected";
  });

async function connect(): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
  const capabilities = { sampling: {}, elicitation: {} };
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  const headers = { authorization: `Bearer ${gateway.token}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers },
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: "assistant",
    model: "mine",
    content: { type: "text", text: `heard ${JSON.stringify(params.messages[0]?.content)}` },
  }));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: "accept",
    content: { username: params.message, email: "ada@example.org" },
  }));
  await client.connect(transport as never);
  clients.push(client);
  return { client, transport };
}

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content[0]!.text;
const sample = (client: Client) =>
  client.callTool({ name: "test_sampling", arguments: { prompt: "hello" } });

test("requests of a server reach the client that calls its tool, and the responses reach the server", async () => {
  const { client } = await connect();
  assert.match(textOf(await sample(client)), /heard.*hello/);
  const elicited = { name: "test_elicitation", arguments: { message: "who?" } };
  assert.match(textOf(await client.callTool(elicited)), /action=accept.*who\?/);
});

test("a server cannot send requests to a client without a session, and the tool reports that", async () => {
  const body = {
    ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
    params: { name: "test_sampling", arguments: { prompt: "x" } },
  };
  const headers = { accept: "application/json, text/event-stream" };
  const response = await gateway.request("POST", "/mcp", body, { headers });
  const message = await response.text();
  assert.match(message, /isError|error/);
  assert.match(message, /cannot be passed to an MCP client/);
});

test("a client hears of a resource that it follows until it does not any more", async () => {
  const { client } = await connect();
  const notifications: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    notifications.push(params.uri);
  });
  // The stream on which it hears opens a moment after the handshake.
  await until("the update", async () => {
    await client.subscribeResource({ uri: "test://static-text" });
    if (notifications.length > 0) return true;
    await client.unsubscribeResource({ uri: "test://static-text" });
    return false;
  });
  assert.is(notifications[0], "test://static-text");
  await client.unsubscribeResource({ uri: "test://static-text" });
});

const subscriptionsOf = async (client: Client): Promise<string[]> =>
  JSON.parse(textOf(await client.callTool({ name: "test_subscriptions", arguments: {} })));

test("concurrent requests for a subscription share one, which one request ends", async () => {
  const { client, transport } = await connect();
  const uri = "test://static-binary";
  // The requests of one message begin at the same time, however busy the machine is.
  const requests = [1, 2, 3].map((id) => ({
    ...{ jsonrpc: "2.0", id, method: "resources/subscribe" },
    params: { uri },
  }));
  const headers = {
    accept: "application/json, text/event-stream",
    "mcp-session-id": transport.sessionId ?? "",
  };
  const response = await gateway.request("POST", "/mcp", requests, { headers });
  assert.is((await response.text()).match(/"result":\{\}/g)?.length, 3);
  assert.equal(await subscriptionsOf(client), [uri]);
  await client.unsubscribeResource({ uri });
  assert.equal(await subscriptionsOf(client), []);
});

test("a subscription outlives the connection to its server", async () => {
  const { client } = await connect();
  const uri = "test://static-text";
  let updates = 0;
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => {
    updates++;
  });
  await until("the stream of notifications", async () => {
    await client.subscribeResource({ uri });
    if (updates > 0) return true;
    await client.unsubscribeResource({ uri });
    return false;
  });
  const crash = await client.callTool({ name: "test_crash", arguments: {} });
  assert.ok(crash.isError);
  updates = 0;
  await untilConnected();
  await until("an update over the new connection", () => updates > 0);
  assert.equal(await subscriptionsOf(client), [uri]);
  await client.subscribeResource({ uri });
  assert.equal(await subscriptionsOf(client), [uri], "it is there already");
  await client.unsubscribeResource({ uri });
  assert.equal(await subscriptionsOf(client), []);
});

test("a subscription whose server is away ends without an error", async () => {
  const { client } = await connect();
  const uri = "test://static-text";
  await client.subscribeResource({ uri });
  await client.callTool({ name: "test_crash", arguments: {} });
  await client.unsubscribeResource({ uri });
  await untilConnected();
  assert.equal(await subscriptionsOf(client), []);
});

test("an ended or unknown session is 404", async () => {
  const { client, transport } = await connect();
  const headers = {
    accept: "application/json, text/event-stream",
    "mcp-session-id": transport.sessionId ?? "",
  };
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  assert.is((await gateway.request("POST", "/mcp", ping, { headers })).status, 200);
  await transport.terminateSession();
  for (const method of ["POST", "GET", "DELETE"]) {
    const body = method === "POST" ? ping : undefined;
    assert.is((await gateway.request(method, "/mcp", body, { headers })).status, 404, method);
  }
  await client.close();
});

test("the least recently used session is closed for a new one", async () => {
  const first = await connect();
  const initialize = {
    ...{ jsonrpc: "2.0", id: 1, method: "initialize" },
    params: {
      ...{ protocolVersion: "2025-06-18", capabilities: {} },
      clientInfo: { name: "many", version: "1" },
    },
  };
  const headers = { accept: "application/json, text/event-stream" };
  const ids: string[] = [];
  for (let i = 0; i < 201; i++) {
    const response = await gateway.request("POST", "/mcp", initialize, { headers });
    await response.text();
    ids.push(response.headers.get("mcp-session-id") ?? "");
  }
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const statusOf = async (id: string | undefined) => {
    const sessionHeaders = { ...headers, "mcp-session-id": id ?? "" };
    return (await gateway.request("POST", "/mcp", ping, { headers: sessionHeaders })).status;
  };
  assert.equal([await statusOf(ids[0]), await statusOf(ids.at(-1))], [404, 200]);
  // One that listens is in use.
  assert.is(await statusOf(first.transport.sessionId), 200);
});

test("mcp.enabled takes effect at once", async () => {
  const change = async (value: boolean) => {
    const edits = [{ path: ["mcp", "enabled"], value }];
    const headers = { "if-match": "*" };
    const response = await gateway.request("PATCH", "/kernel/config", { edits }, { headers });
    assert.is(response.status, 200, await response.text());
  };
  const headers = { accept: "application/json, text/event-stream" };
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const status = async () => (await gateway.request("POST", "/mcp", ping, { headers })).status;
  await change(false);
  assert.is(await status(), 404);
  await change(true);
  assert.is(await status(), 200);
});

test.run();
