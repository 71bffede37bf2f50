/**
 * Wide, deep and long texts at every door: the longest stall of the gateway's event loop, in processor time, and its peak
 * memory. What is over a limit is measured again, and the best of three counts, since a measurement can meet the
 * compiler or a collection.
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { type Door, doors, type Outside } from "./doors.ts";
import { startAnswering } from "./outside.ts";
import type { Shape } from "./shapes.ts";

const STALL_MS = 200;
const MEGABYTE = 1_000_000;
const MEMORY = { base: 64 * MEGABYTE, perByte: 8 };
const ROUNDS = 3;
const WEBHOOK_TOKEN = "webhook-token-of-the-fuzz";

interface Measured {
  stallMs: number;
  peakBytes: number;
}

/** `words`: only doors whose name holds one of them. Returns what is over a limit, one text each. */
export async function fuzzWide(words: readonly string[]): Promise<string[]> {
  const chosen = doors.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  const answering = await startAnswering();
  const gateway = await startMeasured(answering.url);
  const failures: string[] = [];
  const outside: Outside = { ...gateway.outside, serve: answering.serve };
  for (const door of chosen)
    for (const [shape, make] of Object.entries(door.shapes)) {
      const { text, excess } = await measureShape(gateway, outside, door, make);
      console.log(`${excess ? "✗" : "✓"} ${door.name}, ${shape}: ${text}`);
      if (excess) failures.push(`${door.name}, ${shape}: ${text}`);
    }
  await gateway.stop();
  answering.close();
  return failures;
}

async function measureShape(
  gateway: MeasuredGateway,
  outside: Outside,
  door: Door,
  make: Shape,
): Promise<{ text: string; excess: boolean }> {
  const sent = make(door.bytes);
  let best: Measured = { stallMs: Number.POSITIVE_INFINITY, peakBytes: Number.POSITIVE_INFINITY };
  const mostBytes = MEMORY.base + MEMORY.perByte * sent.length;
  const isOver = () => best.stallMs > STALL_MS || best.peakBytes > mostBytes;
  for (let round = 0; round < ROUNDS && isOver(); round++) {
    const { stallMs, peakBytes } = await gateway.measure(() => door.send(outside, sent));
    best = {
      stallMs: Math.min(best.stallMs, stallMs),
      peakBytes: Math.min(best.peakBytes, peakBytes),
    };
  }
  const memory = `${Math.round(best.peakBytes / MEGABYTE)} MB for ${Math.round(sent.length / MEGABYTE)} MB`;
  return { text: `${Math.round(best.stallMs)} ms, ${memory}`, excess: isOver() };
}

type MeasuredGateway = Awaited<ReturnType<typeof startMeasured>>;

async function startMeasured(answeringUrl: string) {
  const config = {
    channels: {
      up: { provider: "openai", baseUrl: `${answeringUrl}/v1`, apiKey: "k", maxRetries: 0 },
    },
    browser: { attachOnly: true, headless: true },
    mcp: { servers: { wide: { url: `${answeringUrl}/mcp` } } },
    polls: { allowPrivateNetwork: true },
    webhooks: {
      enabled: true,
      token: WEBHOOK_TOKEN,
      rateLimit: { maxRequests: 1_000_000, windowMs: 1000 },
      mappings: { any: { message: "x" } },
    },
  };
  const child = fork(
    join(import.meta.dirname, "..", "gateway-process.ts"),
    [JSON.stringify(config)],
    { execArgv: ["--expose-gc", "--import", "tsx"] },
  );
  const replies: ((message: unknown) => void)[] = [];
  child.on("message", (message) => replies.shift()?.(message));
  child.on("exit", (code) => {
    for (const reply of replies.splice(0)) reply({ crash: `the gateway ended with ${code}` });
  });
  const ask = async <T>(question?: string): Promise<T> => {
    const reply = new Promise<unknown>((resolve) => replies.push(resolve));
    if (question !== undefined) child.send(question);
    const message = (await reply) as T & { crash?: string };
    if (message.crash !== undefined) throw new Error(message.crash);
    return message;
  };
  const target = await ask<{ url: string; token: string; servers: Record<string, string> }>();
  return {
    outside: {
      url: target.url,
      browserUrl: target.servers["browser"] ?? target.url,
      headers: { authorization: `Bearer ${target.token}`, "content-type": "application/json" },
      webhookToken: WEBHOOK_TOKEN,
    },
    async measure(work: () => Promise<unknown>): Promise<Measured> {
      await ask("mark");
      await work().catch(() => {});
      return ask<Measured>("measured");
    },
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.send("stop");
      await ended;
    },
  };
}
