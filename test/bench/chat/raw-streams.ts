/** Streams of the benchmarks' upstreams over raw sockets. */
import type { Socket } from "node:net";

/** Encodes a piece of a body with `transfer-encoding: chunked`. */
export const framed = (text: string): string =>
  `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

/** Returns an event of a stream in OpenAI's format. */
export const chunk = (delta: object, finish_reason: string | null = null): string =>
  data({
    id: "chatcmpl-bench0123456789",
    object: "chat.completion.chunk",
    created: 1790000000,
    model: "bench-model",
    system_fingerprint: "fp_0123456789",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });

export const DONE = "data: [DONE]\n\n";

export interface RawStream {
  begin: string;
  /** Returns a framed event. If `batch` is more than one, the same event is repeated. */
  event: () => string;
  end: string;
  chunks: number;
  /** The delay before each chunk. */
  delayMs: number;
  /** The number of chunks in one write. */
  batch: number;
}

/** Sends a stream as fast as the other side reads it. */
export async function streamRaw(socket: Socket, stream: RawStream): Promise<void> {
  const head =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
  socket.write(head + framed(stream.begin));
  const batch = stream.batch === 1 ? undefined : Buffer.from(stream.event().repeat(stream.batch));
  for (let sent = 0; sent < stream.chunks && !socket.destroyed; sent += stream.batch) {
    if (stream.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, stream.delayMs));
    if (socket.write(batch ?? stream.event()) || socket.destroyed) continue;
    await new Promise<void>((resolve) => {
      socket.once("drain", resolve);
      socket.once("close", resolve);
    });
  }
  if (!socket.destroyed) socket.write(`${framed(stream.end)}0\r\n\r\n`);
}
