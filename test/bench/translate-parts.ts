/**
 * The upstream of the translation benchmark: raw sockets and preassembled events, so that it is never what is measured.
 * Speaks OpenAI's, Anthropic's and Gemini's format by path. The caller's last message is the plan: `{chunks, delayMs}`.
 */
import type { Socket } from "node:net";
import { serveRaw } from "./raw-requests.ts";

export interface Plan {
  chunks: number;
  delayMs: number;
}

interface Format {
  path: string;
  begin: string[];
  /** `%` stands for the text. */
  event: string;
  end: string[];
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  data({
    id: "chatcmpl-bench0123456789",
    object: "chat.completion.chunk",
    created: 1790000000,
    model: "bench-model",
    system_fingerprint: "fp_0123456789",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
const generated = (text: string, more: object = {}) =>
  data({
    candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: "bench-model",
    responseId: "bench",
  }).replace(/\n\n$/, "\r\n\r\n");

const message = { id: "msg_bench", type: "message", role: "assistant", model: "bench-model", content: [] };
const FORMATS: Format[] = [
  {
    path: "/v1/chat/completions",
    begin: [chunk({ role: "assistant", content: "" })],
    event: chunk({ content: "%" }),
    end: [chunk({}, "stop"), "data: [DONE]\n\n"],
  },
  {
    path: "/v1/messages",
    begin: [
      named({ type: "message_start", message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } } } as never),
      named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as never),
    ],
    event: named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "%" } } as never),
    end: [
      named({ type: "content_block_stop", index: 0 } as never),
      named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } } as never),
      named({ type: "message_stop" }),
    ],
  },
  {
    path: "/v1beta/",
    begin: [generated("first")],
    event: generated("%"),
    end: [generated("", { finishReason: "STOP" })],
  },
];

const framed = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

async function streamTo(socket: Socket, format: Format, plan: Plan): Promise<void> {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
  socket.write(head + framed(format.begin.join("")));
  const word = framed(format.event.replace("%", " word"));
  const batch = plan.delayMs > 0 ? 1 : 20;
  const many = Buffer.from(word.repeat(batch));
  for (let sent = 0; sent < plan.chunks && !socket.destroyed; sent += batch) {
    if (plan.delayMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, plan.delayMs));
      socket.write(framed(format.event.replace("%", String(process.hrtime.bigint()))));
    } else if (!socket.write(many) && !socket.destroyed) {
      await new Promise<void>((resolve) => {
        socket.once("drain", resolve);
        socket.once("close", resolve);
      });
    }
  }
  if (!socket.destroyed) socket.write(`${framed(format.end.join(""))}0\r\n\r\n`);
}

serveRaw((socket, head, body) => {
  const format = FORMATS.find(({ path }) => head.startsWith(`POST ${path}`));
  const plan = /\{\\"chunks\\":(\d+),\\"delayMs\\":(\d+)\}/.exec(body);
  if (format === undefined || plan === null) socket.destroy();
  else void streamTo(socket, format, { chunks: Number(plan[1]), delayMs: Number(plan[2]) });
});
