/**
 * Sends wide, deep and long texts to every entry point, and measures the longest stall of the gateway's event loop, in
 * processor time, and its peak memory. A measurement over a limit is repeated, and the best of three counts, since the
 * compiler or the garbage collector may disturb one.
 */
import { fork } from "node:child_process";
import { join } from "node:path";
import { type EntryPoint, entryPoints, type TestServers } from "./entry-points.ts";
import { startTextServer } from "./text-server.ts";
import type { Shape } from "./shapes.ts";

const STALL_MS = 200;
const MEGABYTE = 1_000_000;
const MEMORY = { base: 64 * MEGABYTE, perByte: 8 };
const ROUNDS = 3;
const WEBHOOK_TOKEN = "webhook-token-of-the-fuzz";

interface Measurement {
  stallMs: number;
  peakBytes: number;
}

/** Tests the entry points whose name contains one of `words`, or all. Returns a text for each measurement over a limit. */
export async function fuzzWide(words: readonly string[]): Promise<string[]> {
  const selected = entryPoints.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  const textServer = await startTextServer();
  const gateway = await startMeasured(textServer.url);
  const failures: string[] = [];
  const servers: TestServers = { ...gateway.outside, serve: textServer.serve };
  for (const entryPoint of selected)
    for (const [shape, make] of Object.entries(entryPoint.shapes)) {
      const { text, excess } = await measureShape(gateway, servers, entryPoint, make);
      console.log(`${excess ? "✗" : "✓"} ${entryPoint.name}, ${shape}: ${text}`);
      if (excess) failures.push(`${entryPoint.name}, ${shape}: ${text}`);
    }
  await gateway.stop();
  textServer.close();
  return failures;
}

async function measureShape(
  gateway: MeasuredGateway,
  servers: TestServers,
  entryPoint: EntryPoint,
  make: Shape,
): Promise<{ text: string; excess: boolean }> {
  const text = make(entryPoint.bytes);
  let best: Measurement = {
    stallMs: Number.POSITIVE_INFINITY,
    peakBytes: Number.POSITIVE_INFINITY,
  };
  const maxBytes = MEMORY.base + MEMORY.perByte * text.length;
  const isOver = () => best.stallMs > STALL_MS || best.peakBytes > maxBytes;
  for (let round = 0; round < ROUNDS && isOver(); round++) {
    const { stallMs, peakBytes } = await gateway.measure(() => entryPoint.send(servers, text));
    best = {
      stallMs: Math.min(best.stallMs, stallMs),
      peakBytes: Math.min(best.peakBytes, peakBytes),
    };
  }
  const memory = `${Math.round(best.peakBytes / MEGABYTE)} MB for ${Math.round(text.length / MEGABYTE)} MB`;
  return { text: `${Math.round(best.stallMs)} ms, ${memory}`, excess: isOver() };
}

type MeasuredGateway = Awaited<ReturnType<typeof startMeasured>>;

async function startMeasured(textServerUrl: string) {
  const config = {
    channels: {
      up: { provider: "openai", baseUrl: `${textServerUrl}/v1`, apiKey: "k", maxRetries: 0 },
    },
    browser: { attachOnly: true, headless: true },
    mcp: { servers: { wide: { url: `${textServerUrl}/mcp` } } },
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
    async measure(work: () => Promise<unknown>): Promise<Measurement> {
      await ask("mark");
      await work().catch(() => {});
      return ask<Measurement>("measured");
    },
    async stop(): Promise<void> {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.send("stop");
      await ended;
    },
  };
}
