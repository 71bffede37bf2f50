/**
 * Durable wakes a second, beside bare servers for the same bodies. Over one connection: one that inserts into SQLite and
 * syncs, which is what the project measures itself by, and one that appends to a file and syncs. Over 64: one that commits
 * all that came in meanwhile together, and one that appends it all to a file.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { packageDir } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";
import { exchange, open } from "./chat/chat-load.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { cpuMicros, median, percentile, ratios } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 20;
const ROUND_MS = 400;
const BODY = JSON.stringify({ text: "the build is red", metadata: { source: "ci", event: "build", run: 4711 } });

interface Subject {
  child: ChildProcess;
  port: number;
}
interface Reading {
  perSecond: number;
  p99: number;
  micros: number;
}

export default async function bench(): Promise<Bench> {
  const dir = temporaryDir("portico-bench-");
  const children: ChildProcess[] = [];
  try {
    const outfile = join(dir, "subject.mjs");
    await bundle("webhooks-subject.ts", outfile);
    const bare = async (mode: string): Promise<Subject> => {
      const child = fork(outfile, [mode, join(dir, `${mode}.log`), packageDir], { execArgv: [] });
      children.push(child);
      const [port] = (await once(child, "message")) as [number];
      return { child, port };
    };
    const [insert, append] = [await bare("insert"), await bare("append")];
    const [commit, group] = [await bare("commit"), await bare("group")];
    build();
    const ours = await startBuilt({
      agents: { defaults: { heartbeat: { every: "0" } } },
      webhooks: { token: "bench-token", rateLimit: { maxRequests: 1_000_000_000, windowMs: 60_000 } },
    });
    children.push(ours.child);
    const lone = await inTurn({ ours, insert, append }, 1);
    const many = await inTurn({ ours, commit, group, append }, 64);
    return {
      name: "webhooks",
      figures: [
        ...figuresOf("1 connection", lone.ours),
        ...besides("1 connection", lone.ours, "an insert and its sync", lone.insert, 0.8),
        ...besides("1 connection", lone.ours, "an append and its sync", lone.append, 0.8),
        ...figuresOf("64 connections", many.ours),
        ...besides("64 connections", many.ours, "a commit for each group", many.commit, 0.6),
        ...besides("64 connections", many.ours, "an append for each group", many.group, 0.6),
        ...besides("64 connections", many.ours, "an append and its sync", many.append, 3),
      ],
    };
  } finally {
    await Promise.all(children.map(end));
  }
}

const of = (readings: readonly Reading[], key: keyof Reading) => median(readings.map((one) => one[key]));
const rates = (readings: readonly Reading[]) => readings.map(({ perSecond }) => perSecond);

function figuresOf(what: string, ours: readonly Reading[]): Figure[] {
  return [
    { what: `durable wakes, ${what}`, value: of(ours, "perSecond"), unit: "req/s" },
    { what: `the same: 99th percentile`, value: of(ours, "p99"), unit: "ms", limit: 50 },
    { what: `the same: CPU`, value: of(ours, "micros"), unit: "µs/req" },
  ];
}

function besides(
  what: string,
  ours: readonly Reading[],
  name: string,
  theirs: readonly Reading[],
  limit: number,
): Figure[] {
  return [
    { what: `bare server, ${name}`, value: of(theirs, "perSecond"), unit: "req/s" },
    { what: `bare server, ${name}: CPU`, value: of(theirs, "micros"), unit: "µs/req" },
    {
      what: `${what}: ratio`,
      ...ratios(rates(ours), rates(theirs)),
      unit: "×",
      ratioTo: name,
      limit,
      bound: "min",
    },
  ];
}

/** Short rounds in turn, so that a busy machine slows all of them alike; the first of each warms up. */
async function inTurn<K extends string>(
  subjects: Record<K, Subject>,
  connections: number,
): Promise<Record<K, Reading[]>> {
  const names = Object.keys(subjects) as K[];
  const seen = Object.fromEntries(names.map((name) => [name, [] as Reading[]])) as Record<K, Reading[]>;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const reading = await load(subjects[name], connections);
      if (round > 0) seen[name].push(reading);
    }
  }
  return seen;
}

async function load({ child, port }: Subject, connections: number): Promise<Reading> {
  const head = `POST /hooks/wake HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer bench-token\r\n`;
  const request = Buffer.from(
    `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
  );
  const sockets = await Promise.all(Array.from({ length: connections }, () => open({ port })));
  const latencies: number[] = [];
  const cpu = cpuMicros(child.pid!);
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      for (let sent = began; sent - began < ROUND_MS; sent = performance.now()) {
        await exchange(socket, request);
        latencies.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  for (const socket of sockets) socket.destroy();
  return {
    perSecond: latencies.length / seconds,
    p99: percentile(latencies, 0.99),
    micros: (cpuMicros(child.pid!) - cpu) / latencies.length,
  };
}
