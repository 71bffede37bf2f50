/** MCP servers that send too much. */
import { createGzip } from "node:zlib";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { connect } from "../../../plugins/mcp/connect.ts";
import { quietLog } from "../../support/quiet-log.ts";
import { startGateway } from "../../support/gateway.ts";
import { PATIENCE_MS, until } from "../../support/until.ts";

test("an endless list of tools is an error, and is not awaited", async () => {
  let pages = 0;
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (part) => {
      body += part;
    });
    req.on("end", () => {
      const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
      if (id === undefined) return void res.writeHead(req.method === "POST" ? 202 : 405).end();
      const result =
        method === "initialize"
          ? {
              protocolVersion: "2025-03-26",
              capabilities: { tools: {} },
              serverInfo: { name: "endless", version: "1" },
            }
          : {
              tools: [{ name: `t${pages}`, inputSchema: { type: "object" } }],
              nextCursor: String(++pages),
            };
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await connect({
      name: "endless",
      server: { url: `http://127.0.0.1:${port}/`, timeoutMs: PATIENCE_MS } as Parameters<
        typeof connect
      >[0]["server"],
      version: "1",
      signal: new AbortController().signal,
      log: quietLog(),
      addTool: () => () => {},
      onTools: () => {},
    });
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, "does not end");
  } finally {
    server.closeAllConnections();
    server.close();
  }
  assert.ok(pages <= 101, String(pages));
});

for (const type of ["application/json", "text/event-stream"])
  test(`a compressed bomb as ${type} is an error of its server`, async () => {
    const piece = Buffer.alloc(1_000_000, "a");
    const server = createServer((req, res) => {
      if (req.method === "GET") return void res.writeHead(405).end();
      res.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
      const zip = createGzip();
      zip.pipe(res);
      res.once("close", () => zip.destroy());
      const more = (left: number): void => {
        if (left > 0 && !res.destroyed) zip.write(piece, () => more(left - 1));
        else zip.end();
      };
      zip.write(type === "application/json" ? '{"x":"' : "data: ");
      more(500);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const config = { mcp: { servers: { bomb: { url: `http://127.0.0.1:${port}/` } } } };
    const g = await startGateway({ config });
    try {
      await until("the server's error", async () => {
        const { servers } = await g.json("GET", "/mcp/servers");
        return /larger than \d+ bytes/.test(servers[0].error ?? "");
      });
    } finally {
      await g.stop();
      server.closeAllConnections();
      server.close();
    }
  });

test.run();
