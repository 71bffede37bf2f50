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
}

const STREAM = { chunks: 100, delayMs: 0 };

export const areas: readonly Area[] = [
  { name: "whole", what: "whole responses, 64 connections", run: (subject) => whole(subject, 64, 4000) },
  { name: "single", what: "whole responses, 1 connection", run: (subject) => whole(subject, 1, 1000) },
  { name: "streams", what: "50 streams of 100 chunks at once", run: (subject) => streams(subject, 500) },
  { name: "memory", what: "what streams leave, and 1,000 that are open", run: memory, once: true },
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
  const { seconds, micros } = await withConnections(subject, 50, count, (socket) => streamOn(socket, subject, STREAM));
  return { "chunks/s": (count * STREAM.chunks) / seconds, "CPU µs/stream": micros / count };
}

async function memory(subject: Subject): Promise<Reading> {
  const pid = subject.process.pid!;
  const idle = residentMegabytes(pid);
  await streams(subject, 5000);
  const after = residentMegabytes(pid);
  const plan = { chunks: 20, delayMs: 150 };
  const running = Array.from({ length: 1000 }, async () => {
    const socket = await open(subject);
    await streamOn(socket, subject, plan);
    socket.destroy();
  });
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentMegabytes(pid));
  }, 50);
  await Promise.all(running);
  clearInterval(watch);
  return { "idle MB": idle, "MB after 5,000 streams": after, "MB at 1,000 open": most };
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
