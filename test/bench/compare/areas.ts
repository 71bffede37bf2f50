/** What is compared: requests as people send them. */
import { exchange, open, requestOf, type Subject, streamOn } from "../chat/chat-load.ts";
import { cpuMicros, percentile, residentMegabytes } from "../harness/measure.ts";

/** What a figure is → its value. */
export type Reading = Record<string, number>;

export interface Area {
  name: string;
  what: string;
  run(subject: Subject): Promise<Reading>;
  /** Only a process that has done nothing before tells it. */
  once?: boolean;
  /** Of the upstream; without it, OpenAI's. */
  format?: "anthropic" | "gemini";
}

const STREAM = { chunks: 100, delayMs: 0 };

export const areas: readonly Area[] = [
  { name: "whole", what: "whole responses, 64 connections", run: (subject) => whole(subject, 64, 4000) },
  { name: "single", what: "whole responses, 1 connection", run: (subject) => whole(subject, 1, 1000) },
  { name: "streams", what: "50 streams of 100 chunks at once", run: (subject) => streams(subject, 500) },
  { name: "anthropic", what: "the same from Anthropic", run: (subject) => streams(subject, 500), format: "anthropic" },
  { name: "gemini", what: "the same from Gemini", run: (subject) => streams(subject, 500), format: "gemini" },
  { name: "paced", what: "50 streams with 20 ms between chunks", run: paced },
  { name: "memory", what: "what streams leave, and 1,000 that are open", run: memory, once: true },
  { name: "open", what: "1,000 open streams", run: openStreams, once: true },
  { name: "idle", what: "10,000 idle connections", run: idleConnections, once: true },
];

async function whole(subject: Subject, connections: number, count: number): Promise<Reading> {
  const request = requestOf(subject, {});
  const times: number[] = [];
  const measured = await withConnections(subject, connections, count, async (socket) => {
    const began = performance.now();
    await exchange(socket, request);
    times.push(performance.now() - began);
  });
  return {
    "requests/s": count / measured.seconds,
    "CPU µs/request": measured.micros / count,
    "p50 ms": percentile(times, 0.5),
    "p99 ms": percentile(times, 0.99),
  };
}

async function streams(subject: Subject, count: number): Promise<Reading> {
  const { seconds, micros } = await withConnections(subject, 50, count, async (socket) => {
    const { complete } = await streamOn(socket, subject, STREAM);
    if (!complete) throw new Error(`a stream of ${subject.name} is not whole`);
  });
  return { "chunks/s": (count * STREAM.chunks) / seconds, "CPU µs/stream": micros / count };
}

/** They begin one after the other: together, each would wait for the others' beginnings. */
async function paced(subject: Subject): Promise<Reading> {
  const cpu = cpuMicros(subject.process.pid!);
  const firsts = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const socket = await open(subject);
      await new Promise((resolve) => setTimeout(resolve, 50 + i * 3));
      const { firstMs } = await streamOn(socket, subject, { chunks: 20, delayMs: 20 });
      socket.destroy();
      return firstMs;
    }),
  );
  return {
    "to first chunk, ms": percentile(firsts, 0.5),
    "p95 ms": percentile(firsts, 0.95),
    "CPU µs/chunk": (cpuMicros(subject.process.pid!) - cpu) / (50 * 20),
  };
}

async function memory(subject: Subject): Promise<Reading> {
  const pid = subject.process.pid!;
  const idle = residentMegabytes(pid);
  await streams(subject, 5000);
  const after = residentMegabytes(pid);
  return { "idle MB": idle, "MB after 5,000 streams": after, "MB at 1,000 open": await mostAtThousand(subject) };
}

async function openStreams(subject: Subject): Promise<Reading> {
  const idle = residentMegabytes(subject.process.pid!);
  return { "KB per stream": ((await mostAtThousand(subject)) - idle) * 1.024 };
}

/** The most megabytes while 1,000 streams are open. */
async function mostAtThousand(subject: Subject): Promise<number> {
  const running = Array.from({ length: 1000 }, async () => {
    const socket = await open(subject);
    await streamOn(socket, subject, { chunks: 20, delayMs: 150 });
    socket.destroy();
  });
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentMegabytes(subject.process.pid!));
  }, 50);
  await Promise.all(running);
  clearInterval(watch);
  return most;
}

/** Each has had one response. */
async function idleConnections(subject: Subject): Promise<Reading> {
  const pid = subject.process.pid!;
  const idle = residentMegabytes(pid);
  const sockets: Awaited<ReturnType<typeof open>>[] = [];
  while (sockets.length < 10_000) {
    const fresh = await Promise.all(Array.from({ length: 100 }, () => open(subject)));
    await Promise.all(fresh.map((socket) => exchange(socket, requestOf(subject, {}))));
    sockets.push(...fresh);
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const closed = sockets.filter((socket) => socket.closed || socket.readableEnded).length;
  const kilobytes = (residentMegabytes(pid) - idle) * 1024;
  for (const socket of sockets) socket.destroy();
  if (closed > 0) throw new Error(`${closed} idle connections were closed`);
  return { "KB per connection": kilobytes / sockets.length };
}

/** So many calls of `work`, each connection one after the other. */
async function withConnections(
  subject: Subject,
  connections: number,
  count: number,
  work: (socket: Awaited<ReturnType<typeof open>>) => Promise<unknown>,
): Promise<{ seconds: number; micros: number }> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(subject)));
  let left = count;
  const cpu = cpuMicros(subject.process.pid!);
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      while (left-- > 0) await work(socket);
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  const micros = cpuMicros(subject.process.pid!) - cpu;
  for (const socket of sockets) socket.destroy();
  return { seconds, micros };
}
