/**
 * Measures the cost of one large event, or one large whole response, of an upstream: the longest time for which it blocks
 * the gateway's thread, as processor time, and the growth of memory. Upstream and client are in another process.
 * Run `npm run bench -- large-event`; `MEGABYTES=27` sets the size, and `ONLY=openai` selects cases by a part of their names.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { startGateway } from "../../support/gateway.ts";

const MEGABYTES = Number(process.env["MEGABYTES"] ?? 27);
const SIZE = MEGABYTES * 1_000_000;
const TICK_MS = 1;

interface Case {
  provider: string;
  stream: boolean;
  type: string;
  body(): string;
}

const text = () => "word ".repeat(SIZE / 5);
const escaped = () => JSON.stringify('"\n'.repeat(SIZE / 4));
const values = () => `[${"{},".repeat(SIZE / 3)}1]`;
const sse = (...events: (string | [string, string])[]) =>
  events
    .map((event) =>
      typeof event === "string"
        ? `data: ${event}\n\n`
        : `event: ${event[0]}\ndata: ${event[1]}\n\n`,
    )
    .join("");
const openai = (delta: string, finish = "null") =>
  `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}`;
const openaiStream = (delta: string) =>
  sse(openai('{"role":"assistant","content":""}'), openai(delta), openai("{}", '"stop"'), "[DONE]");
const whole = (message: string) =>
  `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":${message},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`;
const anthropic = (delta: string) =>
  sse(
    [
      "message_start",
      '{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}',
    ],
    [
      "content_block_start",
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    ],
    ["content_block_delta", `{"type":"content_block_delta","index":0,"delta":${delta}}`],
    ["content_block_stop", '{"type":"content_block_stop","index":0}'],
    [
      "message_delta",
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
    ],
    ["message_stop", '{"type":"message_stop"}'],
  );
const gemini = (part: string) =>
  sse(
    `{"candidates":[{"content":{"role":"model","parts":[${part}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
  );

const events = "text/event-stream";
const json = "application/json";
const cases: Record<string, Case> = {
  "openai stream, text": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => openaiStream(`{"content":${JSON.stringify(text())}}`),
  },
  "openai stream, escapes": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => openaiStream(`{"content":${escaped()}}`),
  },
  "openai stream, values": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => openaiStream(`{"content":"a","x":${values()}}`),
  },
  "openai stream, arguments": {
    provider: "openai",
    stream: true,
    type: events,
    body: () =>
      openaiStream(
        `{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":${JSON.stringify(`{"a":${values()}}`)}}}]}`,
      ),
  },
  "openai stream, no end": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => `data: {"choices":[{"delta":{"content":"${text()}`,
  },
  "openai stream, comments": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => `: ${text()}\n\n${openaiStream('{"content":"a"}')}`,
  },
  "openai stream, many lines": {
    provider: "openai",
    stream: true,
    type: events,
    body: () => `${"data:\n".repeat(SIZE / 6)}\n${openaiStream('{"content":"a"}')}`,
  },
  "openai stream, whole instead": {
    provider: "openai",
    stream: true,
    type: json,
    body: () => whole(`{"role":"assistant","content":${JSON.stringify(text())}}`),
  },
  "openai whole, text": {
    provider: "openai",
    stream: false,
    type: json,
    body: () => whole(`{"role":"assistant","content":${JSON.stringify(text())}}`),
  },
  "openai whole, values": {
    provider: "openai",
    stream: false,
    type: json,
    body: () => whole(`{"role":"assistant","content":"a","x":${values()}}`),
  },
  "anthropic stream, text": {
    provider: "anthropic",
    stream: true,
    type: events,
    body: () => anthropic(`{"type":"text_delta","text":${JSON.stringify(text())}}`),
  },
  "anthropic stream, values": {
    provider: "anthropic",
    stream: true,
    type: events,
    body: () => anthropic(`{"type":"text_delta","text":"a","x":${values()}}`),
  },
  "anthropic whole, text": {
    provider: "anthropic",
    stream: false,
    type: json,
    body: () =>
      `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":${JSON.stringify(text())}}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
  },
  "gemini stream, text": {
    provider: "gemini",
    stream: true,
    type: events,
    body: () => gemini(`{"text":${JSON.stringify(text())}}`),
  },
  "gemini stream, values": {
    provider: "gemini",
    stream: true,
    type: events,
    body: () => gemini(`{"functionCall":{"name":"f","args":{"a":${values()}}}}`),
  },
  "gemini whole, text": {
    provider: "gemini",
    stream: false,
    type: json,
    body: () =>
      `{"candidates":[{"content":{"role":"model","parts":[{"text":${JSON.stringify(text())}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
  },
  "ollama stream, text": {
    provider: "ollama",
    stream: true,
    type: "application/x-ndjson",
    body: () =>
      `{"model":"m","message":{"role":"assistant","content":${JSON.stringify(text())}},"done":false}\n{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n`,
  },
  "request, text": {
    provider: "openai",
    stream: false,
    type: json,
    body: () => whole('{"role":"assistant","content":"a"}'),
  },
};

/**
 * Runs the other process, with upstream and client. Each line on stdin is a case to run; the output line is the client's
 * result.
 */
async function runPeer(): Promise<void> {
  process.once("disconnect", () => process.exit());
  let body = Buffer.alloc(0);
  let type = "";
  const server = createServer((req, res) => {
    req.resume();
    req.on("end", () => {
      res.writeHead(200, { "content-type": type });
      res.end(body);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  console.log((server.address() as AddressInfo).port);
  for await (const line of createInterface(process.stdin)) {
    const { name, url, token } = JSON.parse(line) as { name: string; url: string; token: string };
    const { provider, stream, ...upstreamResponse } = cases[name]!;
    body = Buffer.from(upstreamResponse.body());
    type = upstreamResponse.type;
    const content = name.startsWith("request") ? text() : "hello";
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": json },
      body: JSON.stringify({
        model: `${provider}/m`,
        stream,
        messages: [{ role: "user", content }],
      }),
    });
    let bytes = 0;
    let last = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      bytes += chunk.length;
      last = (last + decoder.decode(chunk.subarray(-300))).slice(-300);
    }
    const message = /"message":"([^"]{0,90})/.exec(last)?.[1] ?? "";
    console.log(JSON.stringify({ status: response.status, bytes, said: message }));
  }
}

function peakMegabytes(): number {
  const [, kilobytes = "0"] =
    /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kilobytes) / 1000;
}

/** Returns the processor time of this thread in ms, since other threads collect garbage and compile meanwhile. */
function threadMs(): number {
  const [nanoseconds = "0"] = readFileSync(
    `/proc/self/task/${process.pid}/schedstat`,
    "utf8",
  ).split(" ");
  return Number(nanoseconds) / 1e6;
}

/** Measures the longest processor time between two turns of the event loop. */
class StallWatch {
  #longest = 0;
  #last = threadMs();
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);

  #tick(): void {
    const now = threadMs();
    this.#longest = Math.max(this.#longest, now - this.#last);
    this.#last = now;
  }
  stop(): number {
    this.#tick();
    clearInterval(this.#timer);
    return this.#longest;
  }
}

/** Measures one case in a new process, so that the memory peak is the case's own. */
async function measure(name: string): Promise<void> {
  const peer = fork(import.meta.filename, ["stand-in"], {
    stdio: ["pipe", "pipe", "inherit", "ipc"],
  });
  const lines = createInterface(peer.stdout!)[Symbol.asyncIterator]();
  const port = (await lines.next()).value as string;
  const channel = (provider: string, path = "") => ({
    provider,
    baseUrl: `http://127.0.0.1:${port}${path}`,
    apiKey: "sk-not-a-secret-of-anybody",
    models: ["m"],
    maxRetries: 0,
  });
  const channels = Object.fromEntries(
    ["openai", "anthropic", "gemini", "ollama"].map((provider) => [provider, channel(provider)]),
  );
  const gateway = await startGateway({
    config: { channels, gateway: { http: { maxBodyBytes: 64_000_000 } } },
  });
  await gateway.json("POST", "/v1/chat/completions", {
    model: "echo",
    messages: [{ role: "user", content: "hello" }],
  });
  global.gc?.();
  const before = process.memoryUsage().rss / 1e6;
  const watch = new StallWatch();
  peer.stdin!.write(`${JSON.stringify({ name, url: gateway.url, token: gateway.token })}\n`);
  const result = (await lines.next()).value as string;
  const stall = watch.stop();
  const growth = peakMegabytes() - before;
  console.log(
    `${name.padEnd(30)} ${stall.toFixed(0).padStart(6)} ms ${growth.toFixed(0).padStart(6)} MB   ${result}`,
  );
  peer.kill();
  await gateway.stop();
  process.exit(0);
}

const [, , role, name = ""] = process.argv;
if (role === "stand-in") await runPeer();
else if (role === "measure") await measure(name);
else {
  console.log(`${MEGABYTES} MB                            stall      grows   the client got`);
  for (const each of Object.keys(cases)) {
    if (!each.includes(process.env["ONLY"] ?? "")) continue;
    await once(fork(import.meta.filename, ["measure", each]), "exit");
  }
}
