/**
 * Compares translated streams with streams in OpenAI's format, which pass through. They share the gateway and the upstream
 * (a process of its own), and their rounds alternate. The load comes over raw sockets.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { type BuiltGateway, build, end, startBuilt } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import { median } from "../harness/measure.ts";
import type { Figure } from "../run.ts";
import type { Plan } from "./formats.ts";

const STREAMS = 50;
const FORMATS = ["openai", "anthropic", "gemini"] as const;
type Format = (typeof FORMATS)[number];

export default async function bench(): Promise<{ name: string; figures: Figure[] }> {
  build();
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  const upstream = fork(parts, ["formats"], { execArgv: [] });
  const [{ port }] = (await once(upstream, "message")) as [{ port: number }];
  const root = `http://127.0.0.1:${port}`;
  const gateway = await startBuilt({
    config: {
      channels: {
        openai: { provider: "openai", baseUrl: `${root}/v1`, apiKey: "k", models: ["*"] },
        anthropic: { provider: "anthropic", baseUrl: root, apiKey: "k", models: ["*"] },
        gemini: { provider: "gemini", baseUrl: root, apiKey: "k", models: ["*"] },
      },
    },
  });
  try {
    return {
      name: "pace of translated streams",
      figures: await pace(gateway),
    };
  } finally {
    await end(gateway.process);
    await end(upstream);
  }
}

/**
 * Measures the time of a chunk from the upstream's write to the client's read, compared with a chunk that passes through.
 */
async function pace(gateway: BuiltGateway): Promise<Figure[]> {
  const delays: Record<Format, number[]> = { openai: [], anthropic: [], gemini: [] };
  for (let round = 0; round < 4; round++) {
    for (const format of FORMATS) {
      const readings: number[] = [];
      await Promise.all(
        Array.from({ length: STREAMS }, async (_, i) => {
          await new Promise((resolve) => setTimeout(resolve, i * 3));
          await streamOnce(gateway, format, { chunks: 20, delayMs: 20 }, (text) => {
            const now = process.hrtime.bigint();
            for (const [, stamp] of text.matchAll(/"content":"(\d{9,})"/g)) {
              readings.push(Number(now - BigInt(stamp as string)) / 1e6);
            }
          });
        }),
      );
      if (round > 0) delays[format].push(median(readings));
    }
  }
  return (["anthropic", "gemini"] as const).map((format) => ({
    what: `${STREAMS} paced streams from ${format}, each chunk: added to passing`,
    value: median(delays[format]) - median(delays.openai),
    unit: "ms",
    limit: 0.2,
  }));
}

function streamOnce(
  gateway: BuiltGateway,
  format: Format,
  plan: Plan,
  read?: (text: string) => void,
): Promise<void> {
  const body = JSON.stringify({
    model: `${format}/bench`,
    stream: true,
    messages: [{ role: "user", content: JSON.stringify(plan) }],
  });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nauthorization: Bearer ${gateway.token}\r\n`;
  const socket = connect(gateway.port, "127.0.0.1").setNoDelay(true);
  socket.write(
    `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return new Promise((resolve, reject) => {
    let tail = "";
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`a ${format} stream was cut: ${tail}`)));
    socket.on("data", (part) => {
      read?.(part.toString("latin1"));
      tail = (tail + part.toString("latin1", Math.max(0, part.length - 60))).slice(-60);
      if (!tail.endsWith("0\r\n\r\n")) return;
      if (!tail.includes("[DONE]")) reject(new Error(`a ${format} stream is not whole: ${tail}`));
      else resolve();
      socket.destroy();
    });
  });
}
