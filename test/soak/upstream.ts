/** An upstream in OpenAI's format, and a document that polls watch. It keeps nothing, however long it runs. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const PAUSE_MS = 20;
const CHUNKS = 20;
const USAGE = { prompt_tokens: 20, completion_tokens: 20, total_tokens: 40 };

export interface SoakUpstream {
  url: string;
  close(): void;
}

export async function startSoakUpstream(): Promise<SoakUpstream> {
  let version = 0;
  const server = createServer((req, res) => {
    if (req.url === "/document") return void res.end(JSON.stringify([{ id: ++version }]));
    respond(req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let text = "";
  for await (const part of req) text += String(part);
  const { stream } = JSON.parse(text || "{}") as { stream?: boolean };
  if (stream === true) return respondInPieces(res);
  const message = { role: "assistant", content: "A response of the upstream." };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  res.setHeader("content-type", "application/json");
  res.end(
    JSON.stringify({ id: "c", object: "chat.completion", model: "m", choices, usage: USAGE }),
  );
}

async function respondInPieces(res: ServerResponse): Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (let i = 0; i < CHUNKS && !res.destroyed; i++) {
    writeEvent(res, {
      choices: [{ index: 0, delta: { content: `piece ${i} ` }, finish_reason: null }],
    });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  writeEvent(res, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  writeEvent(res, { choices: [], usage: USAGE });
  res.end("data: [DONE]\n\n");
}

function writeEvent(res: ServerResponse, members: object): void {
  const event = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...members };
  res.write(`data: ${JSON.stringify(event)}\n\n`);
}
