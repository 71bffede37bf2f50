/**
 * Chat pass-through beside a bare proxy of node:http and undici that authenticates, parses and routes. Gateway, peer and upstream are
 * processes of their own; rounds alternate, so that a busy machine slows both alike. The load comes over raw sockets.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { build, end, startBuilt, type Subject } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import { exchange, open, requestOf, streamOnce } from "./chat-load.ts";
import type { StreamPlan } from "./chat-parts.ts";
import { BENCH_HEADER, BENCH_KEY } from "./proxy-request.ts";
import { cpuMicros, median, residentMegabytes } from "../harness/measure.ts";
import type { Bench, Figure } from "../run.ts";

const ROUNDS = 9;
const UNARY = 12_000;
const CONNECTIONS = 64;

export default async function bench(): Promise<Bench> {
  build();
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  const children: ChildProcess[] = [];
  try {
    const upstream = await startPart(parts, ["upstream"], children);
    const bare = await startPart(parts, ["bare", String(upstream.port)], children);
    const ours = await startGateway(upstream.port, children);
    const direct: Subject = { ...upstream, name: "direct" };
    const figures = [
      ...(await unary(bare, ours)),
      ...(await streaming(bare, ours)),
      ...(await firstByte(direct, bare, ours)),
      // A gateway of its own: memory that an earlier load has left free would hide what piles up.
      ...(await slowReader(await startGateway(upstream.port, children))),
      ...(await manyStreams(ours)),
      ...(await flat(ours)),
    ];
    return { name: "chat", figures };
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

async function unary(bare: Subject, ours: Subject): Promise<Figure[]> {
  const run = async (subject: Subject) => {
    const request = requestOf(subject, {});
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(subject)));
    let left = UNARY;
    const cpu = cpuMicros(subject.process.pid!);
    const began = performance.now();
    await Promise.all(
      sockets.map(async (socket) => {
        while (left-- > 0) await exchange(socket, request);
      }),
    );
    const seconds = (performance.now() - began) / 1000;
    for (const socket of sockets) socket.destroy();
    return { rate: UNARY / seconds, micros: (cpuMicros(subject.process.pid!) - cpu) / UNARY };
  };
  const [a, b] = await inTurn(bare, ours, run);
  return [
    {
      what: `unary, ${CONNECTIONS} connections: bare proxy`,
      value: median(a.map((one) => one.rate)),
      unit: "req/s",
    },
    {
      what: `unary, ${CONNECTIONS} connections: portico`,
      value: median(b.map((one) => one.rate)),
      unit: "req/s",
    },
    {
      what: "unary: CPU added",
      value: median(b.map((one) => one.micros)) - median(a.map((one) => one.micros)),
      unit: "µs/req",
    },
    {
      what: "unary: ratio",
      value: ratio(
        b.map((one) => one.rate),
        a.map((one) => one.rate),
      ),
      unit: "×",
      limit: 0.85,
      bound: "min",
      ratioTo: "bare proxy",
    },
  ];
}

async function streaming(bare: Subject, ours: Subject): Promise<Figure[]> {
  const streams = 50;
  const chunks = 1000;
  const run = async (subject: Subject) => {
    const began = performance.now();
    await Promise.all(
      Array.from({ length: streams }, () => streamOnce(subject, { chunks, delayMs: 0 })),
    );
    return (streams * chunks) / ((performance.now() - began) / 1000);
  };
  const [a, b] = await inTurn(bare, ours, run);
  return [
    { what: `${streams} streams without delay: bare proxy`, value: median(a), unit: "chunks/s" },
    { what: `${streams} streams without delay: portico`, value: median(b), unit: "chunks/s" },
    {
      what: "streaming: ratio",
      value: ratio(b, a),
      unit: "×",
      limit: 0.9,
      bound: "min",
      ratioTo: "bare proxy",
    },
  ];
}

/** The time of a chunk's way, from the upstream's write to the client's read, and of the first byte. */
async function firstByte(direct: Subject, bare: Subject, ours: Subject): Promise<Figure[]> {
  const run = async (subject: Subject) => {
    const ways: number[] = [];
    const results = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i * 3));
        return streamOnce(subject, { chunks: 20, delayMs: 20, stamp: true }, (bytes) => {
          const now = process.hrtime.bigint();
          for (const [, stamp] of bytes.toString("latin1").matchAll(/"content":"(\d+)"/g))
            ways.push(Number(now - BigInt(stamp!)) / 1e6);
        });
      }),
    );
    return { first: median(results.map((one) => one.firstMs)), way: median(ways) };
  };
  const runs: { first: number; way: number }[][] = [[], [], []];
  for (let i = 0; i < 5; i++)
    for (const [at, subject] of [direct, bare, ours].entries()) runs[at]!.push(await run(subject));
  const of = (at: number, key: "first" | "way") => median(runs[at]!.map((one) => one[key]));
  return [
    {
      what: "50 paced streams, first byte: added by the bare proxy",
      value: of(1, "first") - of(0, "first"),
      unit: "ms",
    },
    {
      what: "50 paced streams, first byte: added by portico",
      value: of(2, "first") - of(0, "first"),
      unit: "ms",
      limit: 1,
    },
    {
      what: "50 paced streams, each chunk: added by portico",
      value: of(2, "way") - of(0, "way"),
      unit: "ms",
    },
  ];
}

async function manyStreams(ours: Subject): Promise<Figure[]> {
  const results = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const text = `<stream ${i}>`;
      let seen = "";
      const { complete } = await streamOnce(ours, { chunks: 20, delayMs: 100, text }, (bytes) => {
        seen += bytes.toString("latin1");
      });
      const own = seen.match(new RegExp(`"content":"${text}"`, "g"))?.length ?? 0;
      const all = seen.match(/"content":"<stream/g)?.length ?? 0;
      return complete && own === 20 && all === 20;
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

/** A 100 MB answer to a client that reads 1 MB/s; ten seconds of it show whether anything piles up. */
async function slowReader(ours: Subject): Promise<Figure[]> {
  await streamOnce(ours, { chunks: 200, delayMs: 0 });
  const before = residentMegabytes(ours.process.pid!);
  const socket = await open(ours);
  socket.pause();
  socket.write(
    requestOf(ours, {
      stream: true,
      bench: { chunks: 1600, delayMs: 0, bytes: 65_536 } satisfies StreamPlan,
    }),
  );
  let most = before;
  for (let second = 0; second < 10; second++) {
    for (let read = 0; read < 1024 * 1024; ) {
      const part = socket.read() as Buffer | null;
      if (part === null) break;
      read += part.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    most = Math.max(most, residentMegabytes(ours.process.pid!));
  }
  socket.destroy();
  return [
    {
      what: "100 MB to a client that reads 1 MB/s: RSS growth",
      value: most - before,
      unit: "MB",
      limit: 20,
    },
  ];
}

/**
 * What piles up: the memory in use goes up and down with the garbage collector by more than the limit, so its lowest
 * reading before is compared with its lowest reading after.
 */
async function flat(ours: Subject): Promise<Figure[]> {
  const request = requestOf(ours, {});
  const load = async (count: number) => {
    const sockets = await Promise.all(Array.from({ length: 16 }, () => open(ours)));
    let left = count;
    await Promise.all(
      sockets.map(async (socket) => {
        while (left-- > 0) await exchange(socket, request);
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

/** Rounds of both in turn; the first of each warms up. */
async function inTurn<T>(
  a: Subject,
  b: Subject,
  run: (subject: Subject) => Promise<T>,
): Promise<[T[], T[]]> {
  const seen: [T[], T[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [at, subject] of [a, b].entries()) {
      const result = await run(subject);
      if (round > 0) seen[at]!.push(result);
    }
  }
  return seen;
}

/** The median of the rounds' own ratios. */
function ratio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, i) => value / theirs[i]!));
}
