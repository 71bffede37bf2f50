/**
 * The other processes of the chat benchmarks: the upstreams `upstream` and `formats`, which use raw sockets and prepared
 * answers so that they do not limit the results, and the proxies for comparison: `bare`, which can also translate from a
 * format, `plain`, which parses each event, and `sockets`. Run it as `chat-parts.ts <role> [upstream's port] [format]`. It
 * sends its port to the parent.
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

/** Starts an upstream that answers as a field of the request says: `bench: {chunks, delayMs, bytes}`. */
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
  /** The size of each chunk's text. The default is a word. */
  bytes?: number;
  /** The text of every chunk, which distinguishes streams. */
  text?: string;
  /** If true, the text of a chunk is the time of sending, so that its delay can be measured. */
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
