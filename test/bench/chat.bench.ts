/**
 * Chat pass-through beside a bare proxy of node:http and undici that parses and routes. Gateway, peer and upstream are
 * processes of their own; rounds alternate, so that a busy machine slows both alike. The load comes over raw sockets.
 */
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import type { StreamPlan } from "./chat-parts.ts";
import type { Bench, Figure } from "./run.ts";

const packageDir = join(import.meta.dirname, "../..");
const ROUNDS = 9;
const UNARY = 12_000;
const CONNECTIONS = 64;

interface Subject {
  name: string;
  port: number;
  headers: string;
  process: ChildProcess;
}

export default async function bench(): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), "portico-bench-"));
  const parts = join(dir, "parts.mjs");
  await bundle("chat-parts.ts", parts);
  const children: ChildProcess[] = [];
  try {
    const upstream = await startPart(parts, ["upstream"], children);
    const bare = await startPart(parts, ["bare", String(upstream.port)], children);
    const ours = await startGateway(dir, upstream.port, children);
    const direct: Subject = { ...upstream, name: "direct" };
    const figures = [
      ...(await unary(bare, ours)),
      ...(await streaming(bare, ours)),
      ...(await firstByte(direct, bare, ours)),
      // A gateway of its own: memory that an earlier load has left free would hide what piles up.
      ...(await slowReader(await startGateway(join(dir, "fresh"), upstream.port, children))),
      ...(await manyStreams(ours)),
      ...(await flat(ours)),
    ];
    return { name: "chat", figures };
  } finally {
    for (const child of children) child.kill();
    await Promise.all(
      children.map((child) => (child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined)),
    );
    rmSync(dir, { recursive: true, force: true });
  }
}

async function startPart(file: string, args: string[], children: ChildProcess[]): Promise<Subject> {
  const child = fork(file, args, { execArgv: [] });
  children.push(child);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return { name: args[0]!, port, headers: "", process: child };
}

/** The gateway as it is run: built, with its own log (into nothing). */
async function startGateway(dir: string, upstream: number, children: ChildProcess[]): Promise<Subject> {
  const built = join(packageDir, ".build/portico.js");
  if (!existsSync(built))
    spawnSync(process.execPath, ["--import", "tsx", "kernel/build.ts"], { cwd: packageDir, stdio: "inherit" });
  const home = join(dir, "home");
  const config = {
    gateway: { port: 0 },
    channels: { main: { provider: "openai", baseUrl: `http://127.0.0.1:${upstream}/v1`, apiKey: "sk-bench" } },
  };
  spawnSync("mkdir", ["-p", "-m", "700", home]);
  writeFileSync(join(home, "portico.json"), JSON.stringify(config), { mode: 0o600 });
  const child = spawn(process.execPath, [built, "start", "--home", home], {
    cwd: packageDir,
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on("data", (bytes: Buffer) => {
      if (output.length < 100_000) output += bytes.toString();
      const match = /Base URL\s+http:\/\/[^:]+:(\d+)/.exec(output);
      if (match) resolve(Number(match[1]));
    });
    child.on("exit", () => reject(new Error(output)));
  });
  const { gateway } = JSON.parse(readFileSync(join(home, "portico.json"), "utf8")) as {
    gateway: { auth: { token: string } };
  };
  return { name: "portico", port, headers: `authorization: Bearer ${gateway.auth.token}\r\n`, process: child };
}

// ------------------------------------------------------------------------------------------------- load

function requestOf(subject: Subject, body: object): Buffer {
  const text = JSON.stringify({
    model: "main/bench-model",
    messages: [{ role: "user", content: "hello ".repeat(60) }],
    ...body,
  });
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:${subject.port}\r\n${subject.headers}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

async function open(subject: Subject): Promise<Socket> {
  const socket = connect(subject.port, "127.0.0.1").setNoDelay(true);
  await once(socket, "connect");
  return socket;
}

/** One whole answer on a connection. Its length is read from the head once. */
function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let seen = 0;
    let wanted = 0;
    const onData = (bytes: Buffer) => {
      if (wanted === 0) {
        const end = bytes.indexOf("\r\n\r\n");
        const head = bytes.toString("latin1", 0, end);
        if (!head.startsWith("HTTP/1.1 200")) reject(new Error(bytes.toString("utf8", 0, 500)));
        wanted = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1]);
      }
      seen += bytes.length;
      if (seen < wanted) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

/** A whole stream, read to its end; answers its first byte's time and what `read` made of it. */
async function streamOnce(
  subject: Subject,
  plan: StreamPlan,
  read?: (bytes: Buffer) => void,
): Promise<{ firstMs: number; bytes: number; complete: boolean }> {
  const socket = await open(subject);
  const began = performance.now();
  let firstMs = 0;
  let bytes = 0;
  let tail = "";
  socket.write(requestOf(subject, { stream: true, bench: plan }));
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => resolve());
    socket.on("data", (part: Buffer) => {
      if (firstMs === 0) firstMs = performance.now() - began;
      bytes += part.length;
      read?.(part);
      tail = (tail + part.toString("latin1", Math.max(0, part.length - 40))).slice(-40);
      if (tail.endsWith("0\r\n\r\n")) resolve();
    });
  });
  socket.destroy();
  return { firstMs, bytes, complete: tail.includes("[DONE]") };
}

async function cpuOf(subject: Subject): Promise<number> {
  // Clock ticks of 10 ms: user and system time of the process.
  const stat = readFileSync(`/proc/${subject.process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function rssOf(subject: Subject): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${subject.process.pid}/status`, "utf8"))?.[1]) / 1024;
}

// --------------------------------------------------------------------------------------------- measures

async function unary(bare: Subject, ours: Subject): Promise<Figure[]> {
  const run = async (subject: Subject) => {
    const request = requestOf(subject, {});
    const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(subject)));
    let left = UNARY;
    const cpu = await cpuOf(subject);
    const began = performance.now();
    await Promise.all(
      sockets.map(async (socket) => {
        while (left-- > 0) await exchange(socket, request);
      }),
    );
    const seconds = (performance.now() - began) / 1000;
    for (const socket of sockets) socket.destroy();
    return { rate: UNARY / seconds, micros: ((await cpuOf(subject)) - cpu) / UNARY };
  };
  const [a, b] = await inTurn(bare, ours, run);
  return [
    { what: `unary, ${CONNECTIONS} connections: bare proxy`, value: median(a.map((one) => one.rate)), unit: "req/s" },
    { what: `unary, ${CONNECTIONS} connections: portico`, value: median(b.map((one) => one.rate)), unit: "req/s" },
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
    await Promise.all(Array.from({ length: streams }, () => streamOnce(subject, { chunks, delayMs: 0 })));
    return (streams * chunks) / ((performance.now() - began) / 1000);
  };
  const [a, b] = await inTurn(bare, ours, run);
  return [
    { what: `${streams} streams without delay: bare proxy`, value: median(a), unit: "chunks/s" },
    { what: `${streams} streams without delay: portico`, value: median(b), unit: "chunks/s" },
    { what: "streaming: ratio", value: ratio(b, a), unit: "×", limit: 0.9, bound: "min", ratioTo: "bare proxy" },
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
    { what: "50 paced streams, each chunk: added by portico", value: of(2, "way") - of(0, "way"), unit: "ms" },
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
    { what: "1,000 streams at once: RSS", value: rssOf(ours), unit: "MB", limit: 250 },
  ];
}

/** A 100 MB answer to a client that reads 1 MB/s; ten seconds of it show whether anything piles up. */
async function slowReader(ours: Subject): Promise<Figure[]> {
  await streamOnce(ours, { chunks: 200, delayMs: 0 });
  const before = rssOf(ours);
  const socket = await open(ours);
  socket.pause();
  socket.write(
    requestOf(ours, { stream: true, bench: { chunks: 1600, delayMs: 0, bytes: 65_536 } satisfies StreamPlan }),
  );
  let most = before;
  for (let second = 0; second < 10; second++) {
    for (let read = 0; read < 1024 * 1024; ) {
      const part = socket.read() as Buffer | null;
      if (part === null) break;
      read += part.length;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
    most = Math.max(most, rssOf(ours));
  }
  socket.destroy();
  return [{ what: "100 MB to a client that reads 1 MB/s: RSS growth", value: most - before, unit: "MB", limit: 20 }];
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
      readings.push(rssOf(ours));
    }
    return Math.min(...readings);
  };
  const before = await lowest();
  await load(50_000);
  const after = await lowest();
  return [{ what: "RSS growth over 100,000 requests", value: after - before, unit: "MB", limit: 20 }];
}

/** Rounds of both in turn; the first of each warms up. */
async function inTurn<T>(a: Subject, b: Subject, run: (subject: Subject) => Promise<T>): Promise<[T[], T[]]> {
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

function median(values: readonly number[]): number {
  return [...values].sort((x, y) => x - y)[Math.floor(values.length / 2)] ?? Number.NaN;
}
