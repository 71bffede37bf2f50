/** Limits of results of MCP servers, over each transport. */
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { makeHome, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

const test = suite("limits of MCP results");

const RESULTS: Readonly<Record<string, string>> = {
  initialize:
    '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}',
  "tools/list": JSON.stringify({
    tools: ["small", "wide", "deep", "members"].map((name) => ({
      name,
      inputSchema: { type: "object" },
    })),
  }),
  small: '{"content":[{"type":"text","text":"fits"}]}',
  wide: `{"content":[${'{"type":"text","text":"a"},'.repeat(40_000)}{"type":"text","text":"b"}]}`,
  deep: `{"content":[],"structuredContent":{"a":${"[".repeat(101)}${"]".repeat(101)}}}`,
  members: `{"content":[],"structuredContent":{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`).join()}}}`,
};

/** A server as a program: its first argument is its response. */
const PROGRAM = `
const results = JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = results[method === "tools/call" ? params.name : method] ?? "{}";
  process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + "}\\n");
});
`;

async function startHttpServer(respond: (res: ServerResponse, message: string) => void) {
  const server = createServer(async (req, res) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    let body = "";
    for await (const part of req) body += part;
    const { id, method, params } = JSON.parse(body) as {
      id?: number;
      method: string;
      params?: { name: string };
    };
    if (id === undefined) return void res.writeHead(202).end();
    const result = RESULTS[method === "tools/call" ? params!.name : method] ?? "{}";
    respond(res, `{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, close };
}

/** Over `POST /mcp`, as a client of the gateway. */
async function checkServer(server: Record<string, unknown>) {
  const gateway = await startGateway({ config: { mcp: { servers: { s: server } } } });
  const call = async (tool: string) => {
    const response = await gateway.request(
      "POST",
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `s_${tool}`, arguments: {} } },
      { headers: { accept: "application/json, text/event-stream" } },
    );
    const { result } = (await response.json()) as {
      result: { isError?: boolean; content: { text: string }[] };
    };
    return result;
  };
  const connected = () =>
    until("the connection", async () => {
      const { servers } = await gateway.json("GET", "/mcp/servers");
      return servers[0].state === "connected";
    });
  try {
    await connected();
    for (const [tool, excess] of [
      ["wide", /more than 100000 values/],
      ["deep", /more than 100 levels/],
      ["members", /more than 10000 members/],
    ] as const) {
      const { isError, content } = await call(tool);
      assert.is(isError, true, tool);
      assert.match(content[0]!.text, excess);
      await connected();
      assert.is((await call("small")).content[0]!.text, "fits", `after ${tool}`);
    }
  } finally {
    await gateway.stop();
  }
}

test("over HTTP, as JSON", async () => {
  const server = await startHttpServer((res, message) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(message);
  });
  await checkServer({ url: server.url }).finally(server.close);
});

test("over standard output", async () => {
  const results = join(makeHome(), "results.json");
  writeFileSync(results, JSON.stringify(RESULTS));
  await checkServer({ command: process.execPath, args: ["-e", PROGRAM, results] });
});

test("over HTTP, as an event stream that comes in pieces", async () => {
  const server = await startHttpServer((res, message) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    const text = `event: message\ndata: ${message}\n\n`;
    const middle = text.length - 1;
    res.write(text.slice(0, 10));
    setImmediate(() => {
      res.write(text.slice(10, middle));
      setImmediate(() => res.end(text.slice(middle)));
    });
  });
  const gateway = await startGateway({ config: { mcp: { servers: { s: { url: server.url } } } } });
  try {
    await until("the connection", async () => {
      const { servers } = await gateway.json("GET", "/mcp/servers");
      return servers[0].tools.length === 4;
    });
  } finally {
    await gateway.stop();
    server.close();
  }
});

test.run();
