/** Durable wakes a second over 64 connections, beside bare servers that sync by themselves or in groups. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client } from "undici";
import { temporaryDir } from "../support/temporary.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { median, percentile } from "./harness/measure.ts";
import type { Bench } from "./run.ts";

const connections = 64;
const rounds = 5;
const roundMs = 2000;
const body = JSON.stringify({ text: "the build is red", metadata: { source: "ci", event: "build", run: 4711 } });

interface Subject {
  name: string;
  child: ChildProcess;
  port: number;
}

export default async function bench(): Promise<Bench> {
  const dir = temporaryDir("portico-bench-");
  const subjects: Subject[] = [];
  try {
    const outfile = join(dir, "subject.mjs");
    await bundle("webhooks-subject.ts", outfile);
    subjects.push(await bare("each", outfile, dir), await bare("group", outfile, dir), await portico());
    const seen = subjects.map((): { perSecond: number; latencies: number[] }[] => []);
    // in turn, so that a busy machine slows all of them alike
    for (let round = 0; round <= rounds; round++) {
      for (const [i, { port }] of subjects.entries()) {
        const result = await load(port);
        if (round > 0) seen[i]?.push(result);
      }
    }
    const [each = 0, group = 0, ours = 0] = seen.map((all) => median(all.map(({ perSecond }) => perSecond)));
    const p99 = seen.map((all) =>
      percentile(
        all.flatMap(({ latencies }) => latencies),
        0.99,
      ),
    );
    return {
      name: "webhooks",
      figures: [
        { what: "durable wakes, 64 connections", value: ours, unit: "req/s" },
        { what: "the same: 99th percentile", value: p99[2] ?? 0, unit: "ms", limit: 50 },
        { what: "bare server, a sync for each request", value: each, unit: "req/s" },
        { what: "bare server, a sync for each group", value: group, unit: "req/s" },
        { what: "bare server, a sync for each group: 99th percentile", value: p99[1] ?? 0, unit: "ms" },
        { what: "ratio", value: ours / each, unit: "×", ratioTo: "a sync for each request", limit: 3, bound: "min" },
        { what: "ratio", value: ours / group, unit: "×", ratioTo: "a sync for each group", limit: 0.3, bound: "min" },
      ],
    };
  } finally {
    for (const { child } of subjects) await end(child);
  }
}

async function bare(mode: string, file: string, dir: string): Promise<Subject> {
  const child = fork(file, [mode, join(dir, `${mode}.log`)], { execArgv: [] });
  const [port] = (await once(child, "message")) as [number];
  return { name: mode, child, port };
}

async function portico(): Promise<Subject> {
  build();
  const { child, port } = await startBuilt({
    agents: { defaults: { heartbeat: { every: "0" } } },
    webhooks: { token: "bench-token", rateLimit: { maxRequests: 1_000_000_000, windowMs: 60_000 } },
  });
  return { name: "portico", child, port };
}

async function load(port: number): Promise<{ perSecond: number; latencies: number[] }> {
  const clients = Array.from({ length: connections }, () => new Client(`http://127.0.0.1:${port}`));
  const headers = { authorization: "Bearer bench-token", "content-type": "application/json" };
  const latencies: number[] = [];
  const began = performance.now();
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - began < roundMs) {
        const sent = performance.now();
        const { statusCode, body: answer } = await client.request({
          path: "/hooks/wake",
          method: "POST",
          headers,
          body,
        });
        await answer.dump();
        if (statusCode !== 200) throw new Error(`unexpected status ${statusCode}`);
        latencies.push(performance.now() - sent);
      }
      await client.close();
    }),
  );
  return { perSecond: (latencies.length * 1000) / (performance.now() - began), latencies };
}
