/** The server that the gateway's polls, channels and MCP connections call. It answers with the current text. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface TextServer {
  url: string;
  serve(text: string, contentType: string): string;
  close(): void;
}

interface Answer {
  text: string;
  contentType: string;
}

export async function startTextServer(): Promise<TextServer> {
  let answer: Answer = { text: "{}", contentType: "application/json" };
  let count = 0;
  const server = createServer(async (req, res) => {
    if (req.url?.startsWith("/mcp")) return void respondMcp(req, res, answer);
    req.resume();
    res.writeHead(200, { "content-type": answer.contentType });
    res.end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    serve(text, contentType) {
      answer = { text, contentType };
      count++;
      return `${url}/${count}`;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers as an MCP server with one tool, whose result is the current text. */
async function respondMcp(
  req: IncomingMessage,
  res: ServerResponse,
  { text }: Answer,
): Promise<void> {
  if (req.method !== "POST") return void res.writeHead(405).end();
  let body = "";
  for await (const part of req) body += part;
  const { id, method } = JSON.parse(body) as { id?: number; method: string };
  if (id === undefined) return void res.writeHead(202).end();
  const results: Record<string, string> = {
    initialize: JSON.stringify({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "wide", version: "1" },
    }),
    "tools/list": JSON.stringify({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
    "tools/call": text,
  };
  res.writeHead(200, { "content-type": "application/json" });
  res.end(`{"jsonrpc":"2.0","id":${id},"result":${results[method] ?? "{}"}}`);
}
