/**
 * The other processes of the chat benchmark: `upstream` (raw sockets, preassembled answers, so that it is never what is
 * measured) and `bare` (the peer: node:http and undici's dispatcher, which parses the request, routes by model, writes it
 * anew and passes the answer's bytes on). Run as `chat-parts.ts <role> [upstream's port]`; sends its port to the parent.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { serveRaw } from "./raw-requests.ts";

const [, , role, upstreamPort] = process.argv;
if (role === "upstream") upstream();
if (role === "bare") bare(Number(upstreamPort));

process.on("message", (message) => {
  if (message === "usage") process.send!({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() });
});

function head(type: string, rest: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${rest}\r\n\r\n`;
}

export function eventOf(content: string): string {
  const chunk = {
    id: "chatcmpl-bench0123456789",
    object: "chat.completion.chunk",
    created: 1790000000,
    model: "bench-model",
    system_fingerprint: "fp_0123456789",
    choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

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
  const whole = Buffer.from(head("application/json", `content-length: ${Buffer.byteLength(answer)}`) + answer);
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

async function streamTo(socket: Socket, plan: StreamPlan): Promise<void> {
  const framed = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const first = eventOf("").replace('"content":""', '"role":"assistant","content":""');
  const word = framed(eventOf(plan.text ?? (plan.bytes === undefined ? " word" : "x".repeat(plan.bytes))));
  const one = () => (plan.stamp ? framed(eventOf(String(process.hrtime.bigint()))) : word);
  socket.write(
    head("text/event-stream", "transfer-encoding: chunked") +
      framed(plan.stamp ? first.replace('"content":""', `"content":"${process.hrtime.bigint()}"`) : first),
  );
  const batch = plan.delayMs > 0 ? 1 : plan.bytes === undefined ? 20 : 1;
  for (let sent = 0; sent < plan.chunks && !socket.destroyed; sent += batch) {
    if (plan.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, plan.delayMs));
    if (!socket.write(batch === 1 ? one() : word.repeat(batch)) && !socket.destroyed) {
      await new Promise<void>((resolve) => {
        socket.once("drain", resolve);
        socket.once("close", resolve);
      });
    }
  }
  const finish = eventOf("").replace('{"content":""}', "{}").replace('"finish_reason":null', '"finish_reason":"stop"');
  socket.write(`${framed(finish)}${framed("data: [DONE]\n\n")}0\r\n\r\n`);
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
