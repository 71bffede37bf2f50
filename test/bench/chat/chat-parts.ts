/**
 * The other processes of the chat benchmarks: `upstream` and `formats` (raw sockets, preassembled answers, so that they are
 * never what is measured), and the proxies that are the measure: `bare`, which also translates from a format that it is
 * told, `plain`, which parses each event, and `sockets`. Run as `chat-parts.ts <role> [upstream's port] [format]`; sends its port to the parent.
 */
import type { Socket } from "node:net";
import { serveFormats } from "./formats.ts";
import { plainTranslation } from "./proxy-plain.ts";
import { translations } from "./proxy-translate.ts";
import { undiciProxy } from "./proxy-undici.ts";
import { socketProxy } from "./proxy-sockets.ts";
import { serveRaw } from "./raw-requests.ts";
import { chunk, DONE, framed, streamRaw } from "./raw-streams.ts";

const [, , role, upstreamPort, format] = process.argv;
if (role === "upstream") upstream();
if (role === "formats") serveFormats();
if (role === "bare") undiciProxy(Number(upstreamPort), translations[format ?? "openai"]);
if (role === "plain") undiciProxy(Number(upstreamPort), plainTranslation(format ?? "openai"));
if (role === "sockets") socketProxy(Number(upstreamPort));

/** Answers by the fields of the request: `bench: {chunks, delayMs, bytes}`. */
function upstream(): void {
  const answer = JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1790000000,
    model: "bench-model",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "word ".repeat(70) },
        finish_reason: "stop",
      },
    ],
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
  const word = framed(
    chunk({ content: plan.text ?? (plan.bytes === undefined ? " word" : "x".repeat(plan.bytes)) }),
  );
  return streamRaw(socket, {
    begin: chunk({ role: "assistant", content: plan.stamp ? now() : "" }),
    event: () => (plan.stamp ? framed(chunk({ content: now() })) : word),
    end: chunk({}, "stop") + DONE,
    chunks: plan.chunks,
    delayMs: plan.delayMs,
    batch: plan.delayMs > 0 || plan.bytes !== undefined ? 1 : 20,
  });
}
