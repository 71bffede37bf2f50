/**
 * The upstream of the translation benchmarks. It uses raw sockets and prepared events so that it does not limit the results.
 * The path selects OpenAI's, Anthropic's or Gemini's format. The last message holds the plan: `{chunks, delayMs}`.
 */
import type { Socket } from "node:net";
import { serveRaw } from "./raw-requests.ts";
import { chunk, DONE, data, framed, streamRaw } from "./raw-streams.ts";

export interface Plan {
  chunks: number;
  delayMs: number;
}

interface Format {
  path: string;
  begin: string[];
  /** An event, in which `%` is the placeholder for the text. */
  event: string;
  end: string[];
}

const namedEvent = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
const geminiEvent = (text: string, more: object = {}) =>
  data({
    candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: "bench-model",
    responseId: "bench",
  }).replace(/\n\n$/, "\r\n\r\n");

const message = {
  id: "msg_bench",
  type: "message",
  role: "assistant",
  model: "bench-model",
  content: [],
};
const FORMATS: Format[] = [
  {
    path: "/v1/chat/completions",
    begin: [chunk({ role: "assistant", content: "" })],
    event: chunk({ content: "%" }),
    end: [chunk({}, "stop"), DONE],
  },
  {
    path: "/v1/messages",
    begin: [
      namedEvent({
        type: "message_start",
        message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } },
      } as never),
      namedEvent({
        type: "content_block_start",
        index: 0,
        content_block: { type: "text", text: "" },
      } as never),
    ],
    event: namedEvent({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "%" },
    } as never),
    end: [
      namedEvent({ type: "content_block_stop", index: 0 } as never),
      namedEvent({
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { output_tokens: 9 },
      } as never),
      namedEvent({ type: "message_stop" }),
    ],
  },
  {
    path: "/v1beta/",
    begin: [geminiEvent("first")],
    event: geminiEvent("%"),
    end: [geminiEvent("", { finishReason: "STOP" })],
  },
];

function streamTo(socket: Socket, format: Format, { chunks, delayMs }: Plan): Promise<void> {
  const word = framed(format.event.replace("%", " word"));
  return streamRaw(socket, {
    begin: format.begin.join(""),
    event: () =>
      delayMs > 0 ? framed(format.event.replace("%", String(process.hrtime.bigint()))) : word,
    end: format.end.join(""),
    chunks,
    delayMs,
    batch: delayMs > 0 ? 1 : 20,
  });
}

/** Starts the upstream, and sends its port to the parent process. */
export function serveFormats(): void {
  serveRaw((socket, head, body) => {
    const format = FORMATS.find(({ path }) => head.startsWith(`POST ${path}`));
    const plan = /\{\\"chunks\\":(\d+),\\"delayMs\\":(\d+)\}/.exec(body);
    if (format === undefined || plan === null) socket.destroy();
    else void streamTo(socket, format, { chunks: Number(plan[1]), delayMs: Number(plan[2]) });
  });
}
