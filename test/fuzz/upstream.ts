/** An upstream with malformed answers: cut off, with wrong types, or in the wrong format. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mutate, type Random, randomValue } from "./random.ts";

const words = [
  "choices",
  "message",
  "delta",
  "content",
  "role",
  "finish_reason",
  "usage",
  "error",
  "candidates",
  "type",
];
const samples = [
  '{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
  '{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
  '{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}',
  '{"model":"m","message":{"role":"assistant","content":"hi"},"done":true,"prompt_eval_count":1,"eval_count":1}',
  '{"error":{"message":"no","type":"invalid_request_error","code":"bad"}}',
];
const streams = [
  'data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"h"}}]}\n\ndata: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"m","usage":{"input_tokens":1}}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  'data: {"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}\r\n\r\n',
  '{"message":{"content":"h"},"done":false}\n{"message":{"content":""},"done":true}\n',
];

export async function startUpstream(
  random: Random,
): Promise<{ url: string; open(): number; close(): Promise<void> }> {
  let open = 0;
  const server = createServer((req, res) => {
    open++;
    res.on("close", () => open--);
    req.resume();
    req.on("end", () => respond(random, res));
    req.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => open,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function respond(random: Random, res: ServerResponse): void {
  const status = random.pick([200, 200, 200, 200, 400, 401, 404, 413, 429, 500, 503, 529]);
  if (random.chance(0.03)) return void res.destroy();
  if (random.chance(0.5)) {
    res.writeHead(status, {
      "content-type": random.pick(["application/json", "text/plain", "text/html"]),
    });
    const body = random.chance(0.7)
      ? mutate(random, random.pick(samples))
      : JSON.stringify(randomValue(random, words));
    return void (random.chance(0.1) ? res.write(body, () => res.destroy()) : res.end(body));
  }
  res.writeHead(status, {
    "content-type": random.pick(["text/event-stream", "application/x-ndjson"]),
  });
  const body = random.chance(0.3) ? random.pick(streams) : mutate(random, random.pick(streams));
  const cut = random.below(body.length + 1);
  res.write(body.slice(0, cut));
  setImmediate(() => (random.chance(0.1) ? res.destroy() : res.end(body.slice(cut))));
}
