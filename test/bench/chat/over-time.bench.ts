/** Measures the memory of a gateway with many concurrent streams, with a slow reader, and over 100,000 requests. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { build, end, startBuilt, type Subject } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import { exchange, open, chatRequest, streamOnce } from "./chat-load.ts";
import type { StreamPlan } from "./chat-parts.ts";
import { BENCH_HEADER, BENCH_KEY } from "./proxy-request.ts";
import { residentMegabytes } from "../harness/measure.ts";
import type { Bench, Figure } from "../run.ts";

export default async function bench(): Promise<Bench> {
  build();
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  const children: ChildProcess[] = [];
  try {
    const upstream = await startPart(parts, ["upstream"], children);
    const ours = await startGateway(upstream.port, children);
    const figures = [
      // Uses a new gateway, since memory that an earlier load has freed would hide growth.
      ...(await slowReader(await startGateway(upstream.port, children))),
      ...(await manyStreams(ours)),
      ...(await measureGrowth(ours)),
    ];
    return { name: "chats over time", figures };
  } finally {
    await Promise.all(children.map(end));
  }
}

async function startPart(file: string, args: string[], children: ChildProcess[]): Promise<Subject> {
  const child = fork(file, args, { execArgv: [] });
  children.push(child);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { name: args[0]!, port, headers: BENCH_HEADER, process: child };
}

async function startGateway(upstream: number, children: ChildProcess[]): Promise<Subject> {
  const main = {
    provider: "openai",
    baseUrl: `http://127.0.0.1:${upstream}/v1`,
    apiKey: BENCH_KEY,
  };
  const gateway = await startBuilt({ config: { channels: { main } } });
  children.push(gateway.process);
  return gateway;
}

async function manyStreams(ours: Subject): Promise<Figure[]> {
  const results = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const text = `<stream ${i}>`;
      let received = "";
      const { complete } = await streamOnce(ours, { chunks: 20, delayMs: 100, text }, (bytes) => {
        received += bytes.toString("latin1");
      });
      const ownChunks = received.match(new RegExp(`"content":"${text}"`, "g"))?.length ?? 0;
      const allChunks = received.match(/"content":"<stream/g)?.length ?? 0;
      return complete && ownChunks === 20 && allChunks === 20;
    }),
  );
  return [
    {
      what: "1,000 streams at once: lost or mixed up",
      value: results.filter((whole) => !whole).length,
      unit: "",
      limit: 0,
    },
    {
      what: "1,000 streams at once: RSS",
      value: residentMegabytes(ours.process.pid!),
      unit: "MB",
      limit: 250,
    },
  ];
}

/**
 * Sends a 100 MB answer to a client that reads 1 MB/s. Ten seconds of it show whether the gateway buffers without limit.
 */
async function slowReader(ours: Subject): Promise<Figure[]> {
  await streamOnce(ours, { chunks: 200, delayMs: 0 });
  const before = residentMegabytes(ours.process.pid!);
  const socket = await open(ours);
  socket.pause();
  socket.write(
    chatRequest(ours, {
      stream: true,
      bench: { chunks: 1600, delayMs: 0, bytes: 65_536 } satisfies StreamPlan,
    }),
  );
  let peak = before;
  for (let second = 0; second < 10; second++) {
    for (let read = 0; read < 1024 * 1024; ) {
      const part = socket.read() as Buffer | null;
      if (part === null) break;
      read += part.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    peak = Math.max(peak, residentMegabytes(ours.process.pid!));
  }
  socket.destroy();
  return [
    {
      what: "100 MB to a client that reads 1 MB/s: RSS growth",
      value: peak - before,
      unit: "MB",
      limit: 20,
    },
  ];
}

/**
 * Measures the growth of memory. Garbage collection makes it vary by more than the limit, so the lowest reading before the
 * load is compared with the lowest one after it.
 */
async function measureGrowth(ours: Subject): Promise<Figure[]> {
  const request = chatRequest(ours, {});
  const load = async (count: number) => {
    const sockets = await Promise.all(Array.from({ length: 16 }, () => open(ours)));
    let remaining = count;
    await Promise.all(
      sockets.map(async (socket) => {
        while (remaining-- > 0) await exchange(socket, request);
      }),
    );
    for (const socket of sockets) socket.destroy();
  };
  const lowest = async () => {
    const readings: number[] = [];
    for (let i = 0; i < 10; i++) {
      await load(5_000);
      readings.push(residentMegabytes(ours.process.pid!));
    }
    return Math.min(...readings);
  };
  const before = await lowest();
  await load(50_000);
  const after = await lowest();
  return [
    { what: "RSS growth over 100,000 requests", value: after - before, unit: "MB", limit: 20 },
  ];
}
