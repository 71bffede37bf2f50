/**
 * The other processes of the chat benchmark: `upstream` (raw sockets, preassembled answers, so that it is never what is
 * measured) and `bare` (the peer: node:http and undici's dispatcher, which parses the request, routes by model, writes it
 * anew and passes the answer's bytes on). Run as `chat-parts.ts <role> [upstream's port]`; sends its port to the parent.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { serveRaw } from "./raw-requests.ts";
import { chunk, DONE, framed, streamRaw } from "./raw-streams.ts";

const [, , role, upstreamPort] = process.argv;
if (role === "upstream") upstream();
if (role === "bare") bare(Number(upstreamPort));

/** Answers by the fields of the request: `bench: {chunks, delayMs, bytes}`. */
function upstream(): void {
  const answer = JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1790000000,
    model: "bench-model",
    choices: [{ index: 0, message: { role: "assistant", content: "word ".repeat(70) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 70, total_tokens: 80 },
  });
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(answer)}\r\n\r\n`;
  const whole = Buffer.from(head + answer);
  serveRaw((socket, _head, body) => {
    if (!body.includes('"stream":true')) socket.write(whole);
    else void streamTo(socket, (JSON.parse(body) as { bench: StreamPlan }).bench);
  });
}

export interface StreamPlan {
  chunks: number;
  delayMs: number;
  /** Of one chunk's text; default a word. */
  bytes?: number;
  /** The text of every chunk, to tell streams apart. */
  text?: string;
  /** The chunk's text is a clock reading, to tell how long it was under way. */
  stamp?: boolean;
}

function streamTo(socket: Socket, plan: StreamPlan): Promise<void> {
  const now = () => String(process.hrtime.bigint());
  const word = framed(chunk({ content: plan.text ?? (plan.bytes === undefined ? " word" : "x".repeat(plan.bytes)) }));
  return streamRaw(socket, {
    begin: chunk({ role: "assistant", content: plan.stamp ? now() : "" }),
    event: () => (plan.stamp ? framed(chunk({ content: now() })) : word),
    end: chunk({}, "stop") + DONE,
    chunks: plan.chunks,
    delayMs: plan.delayMs,
    batch: plan.delayMs > 0 || plan.bytes !== undefined ? 1 : 20,
  });
}

function bare(port: number): void {
  const pool = new Pool(`http://127.0.0.1:${port}`, {
    connections: null,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const request = JSON.parse(Buffer.concat(parts).toString("utf8")) as { model: string };
      const slash = request.model.indexOf("/");
      if (request.model.slice(0, slash) !== "main") {
        res.writeHead(404).end();
        return;
      }
      const body = JSON.stringify({ ...request, model: request.model.slice(slash + 1) });
      const headers = { "content-type": "application/json", authorization: "Bearer sk-bench" };
      pool.dispatch({ path: "/v1/chat/completions", method: "POST", headers, body }, passOn(res));
    });
  });
  server.listen(0, "127.0.0.1", () => process.send!({ port: (server.address() as AddressInfo).port }));
}

function passOn(res: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller) {
      res.on("close", () => {
        if (!res.writableFinished) controller.abort(new Error("gone"));
      });
    },
    onResponseStart(controller, status, headers) {
      const type = String(headers["content-type"]);
      const length = headers["content-length"];
      res.writeHead(status, { "content-type": type, ...(typeof length === "string" && { "content-length": length }) });
      res.on("drain", () => controller.resume());
    },
    onResponseData(controller, bytes) {
      if (!res.write(bytes)) controller.pause();
    },
    onResponseEnd() {
      res.end();
    },
    onResponseError() {
      res.destroy();
    },
  };
}
