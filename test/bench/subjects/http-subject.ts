/**
 * The process under test of `http.bench.ts`. The argument `bare` selects node:http alone, `portico` the kernel's server.
 */
import { createConnectionLimit } from "../../../kernel/http/connection-limit.ts";
import { createServer as createBare } from "node:http";
import { Auth } from "../../../kernel/http/access/auth.ts";
import { HttpServer } from "../../../kernel/http/server.ts";
import { quietLog } from "../../support/quiet-log.ts";

const answer = { ok: true, id: "item-1", tags: ["a", "b"] };

async function bare(): Promise<number> {
  const server = createBare((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      if (req.method === "POST") JSON.parse(Buffer.concat(chunks).toString());
      const text = JSON.stringify(answer);
      res.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      });
      res.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as { port: number }).port;
}

function portico(): Promise<number> {
  const log = quietLog();
  const http = {
    maxBodyBytes: 32 * 1024 * 1024,
    maxValues: 100_000,
    maxMembers: 10_000,
    maxDepth: 100,
    maxConnections: "auto" as const,
    maxConnectionsPerAddress: "auto" as const,
    allowedOrigins: [],
    allowedHosts: [],
    headersTimeoutMs: 10_000,
    bodyTimeoutMs: 30_000,
  };
  const settings = { http, trustedProxies: [] };
  const auth = new Auth({
    settings: () => ({ token: "bench-token" }),
    authenticators: () => [],
    log,
  });
  const server = new HttpServer({
    name: "bench",
    log,
    access: () => {},
    settings: () => settings,
    auth,
    connectionLimit: createConnectionLimit(() => ({ ...http, trustedProxies: [] })),
  });
  for (let i = 0; i < 60; i++)
    server.route(i % 2 ? "GET" : "POST", `/room${i}/:id`, { access: "client" }, () => answer);
  server.route("GET", "/item", { access: "client" }, () => answer);
  server.route("POST", "/item", { access: "client" }, async (call) => {
    await call.json();
    return answer;
  });
  return server.listen(0, "127.0.0.1");
}

const port = await (process.argv[2] === "bare" ? bare() : portico());
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
process.send?.(port);
