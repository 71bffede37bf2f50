/** Chat requests of clients. */
import { type Client, exchange, open, chatRequest, streamOn } from "../../chat/chat-load.ts";
import type { Subject } from "../../harness/built.ts";
import { load } from "../../harness/load.ts";
import { cpuMicros, percentile, residentMegabytes } from "../../harness/measure.ts";
import type { ChatArea, Reading } from "../area.ts";

const STREAM = { chunks: 100, delayMs: 0 };

/** Creates a `begin` with the same work in each round. */
const sameRound = (run: (subject: Subject) => Promise<Reading>) => (subject: Subject) => () =>
  run(subject);
const manyStreams = sameRound((subject) => streams(subject, 500));
/** Warms up with streams first, because V8 would need five paced rounds to optimise the hot functions. */
const warmPaced = async (subject: Subject) => {
  await streams(subject, 500);
  return () => paced(subject);
};
/** Creates an area with an upstream in Anthropic's format, for clients of this or another format. */
const fromAnthropic = (client: Client) =>
  ({
    begin: sameRound((subject) => streams(subject, 500, client)),
    format: "anthropic",
    client,
  }) as const;
const freshProcesses = { fresh: true, rounds: 4 };

export const chatAreas: readonly ChatArea[] = [
  {
    name: "whole",
    what: "whole responses, 64 connections",
    begin: sameRound((subject) => whole(subject, 64, 4000)),
  },
  {
    name: "single",
    what: "whole responses, 1 connection",
    begin: sameRound((subject) => whole(subject, 1, 1000)),
  },
  { name: "streams", what: "50 streams of 100 chunks at once", begin: manyStreams },
  { name: "anthropic", what: "the same from Anthropic", begin: manyStreams, format: "anthropic" },
  { name: "gemini", what: "the same from Gemini", begin: manyStreams, format: "gemini" },
  { name: "responses", what: "from Anthropic to /v1/responses", ...fromAnthropic("responses") },
  { name: "messages", what: "from Anthropic to /v1/messages", ...fromAnthropic("messages") },
  { name: "paced", what: "50 streams with 20 ms between chunks", begin: warmPaced },
  {
    name: "memory",
    what: "what streams leave, and 1,000 that are open",
    begin: sameRound(memory),
    ...freshProcesses,
  },
  { name: "open", what: "1,000 open streams", begin: sameRound(openStreams), ...freshProcesses },
  {
    name: "idle",
    what: "10,000 idle connections",
    begin: sameRound(idleConnections),
    ...freshProcesses,
  },
];

async function whole(subject: Subject, connections: number, count: number): Promise<Reading> {
  const request = chatRequest(subject, {});
  const { perSecond, micros, times } = await load(subject, { connections, count }, (socket) =>
    exchange(socket, request),
  );
  return {
    "requests/s": perSecond,
    "CPU µs/request": micros,
    "p50 ms": percentile(times, 0.5),
    "p99 ms": percentile(times, 0.99),
  };
}

async function streams(subject: Subject, count: number, client?: Client): Promise<Reading> {
  const { perSecond, micros } = await load(subject, { connections: 50, count }, async (socket) => {
    const { complete } = await streamOn(socket, subject, STREAM, undefined, client);
    if (!complete) throw new Error(`a stream of ${subject.name} is not whole`);
  });
  return { "chunks/s": perSecond * STREAM.chunks, "CPU µs/stream": micros };
}

/** Runs paced streams. They start one after another, since each would otherwise wait for the starts of the others. */
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
  return {
    "idle MB": idle,
    "MB after 5,000 streams": after,
    "MB at 1,000 open": await peakAtThousandStreams(subject),
  };
}

async function openStreams(subject: Subject): Promise<Reading> {
  const idle = residentMegabytes(subject.process.pid!);
  return { "KB per stream": ((await peakAtThousandStreams(subject)) - idle) * 1.024 };
}

/** Returns the peak of resident memory in MB while 1,000 streams are open. */
async function peakAtThousandStreams(subject: Subject): Promise<number> {
  const running = Array.from({ length: 1000 }, async () => {
    const socket = await open(subject);
    await streamOn(socket, subject, { chunks: 20, delayMs: 150 });
    socket.destroy();
  });
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(subject.process.pid!));
  }, 50);
  await Promise.all(running);
  clearInterval(watch);
  return peak;
}

/** Measures the memory of idle connections, each of which has received one response. */
async function idleConnections(subject: Subject): Promise<Reading> {
  const pid = subject.process.pid!;
  const idle = residentMegabytes(pid);
  const sockets: Awaited<ReturnType<typeof open>>[] = [];
  while (sockets.length < 10_000) {
    const newSockets = await Promise.all(Array.from({ length: 100 }, () => open(subject)));
    await Promise.all(newSockets.map((socket) => exchange(socket, chatRequest(subject, {}))));
    // If the server resets an idle connection, it counts as closed.
    for (const socket of newSockets) socket.on("error", () => socket.destroy());
    sockets.push(...newSockets);
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const closed = sockets.filter((socket) => socket.closed || socket.readableEnded).length;
  const kilobytes = (residentMegabytes(pid) - idle) * 1024;
  for (const socket of sockets) socket.destroy();
  if (closed > 0) throw new Error(`${closed} idle connections were closed`);
  return { "KB per connection": kilobytes / sockets.length };
}
