/** Compares the kernel's HTTP layer (guards, credentials, routing, JSON) with a bare node:http server. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client } from "undici";
import { temporaryDir } from "../support/temporary.ts";
import { bundle } from "./harness/bundle.ts";
import { median } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const body = JSON.stringify({
  model: "echo",
  messages: [{ role: "user", content: "hello ".repeat(90) }],
});
const rounds = 6;
const roundMs = 500;

interface Subject {
  name: string;
  process: ChildProcess;
  port: number;
}

export default async function bench(): Promise<Bench> {
  const dir = temporaryDir("portico-bench-");
  const outfile = join(dir, "subject.mjs");
  await bundle("subjects/http-subject.ts", outfile);
  const subjects = [await start("bare", outfile), await start("portico", outfile)];
  const figures: Figure[] = [];
  try {
    for (const method of ["GET", "POST"] as const) {
      for (const connections of [10, 64]) {
        const [bare, ours] = await compare(subjects, method, connections);
        if (!bare || !ours) continue;
        const what = `${method}, ${connections} connections`;
        figures.push(
          { what: `${what}: bare node:http`, value: Math.round(bare.perSecond), unit: "req/s" },
          { what: `${what}: portico`, value: Math.round(ours.perSecond), unit: "req/s" },
          {
            what: `${what}: ratio`,
            value: round(ours.perSecond / bare.perSecond),
            unit: "×",
            ratioTo: "bare node:http",
          },
          {
            what: `${what}: CPU added`,
            value: round(ours.cpuMicros - bare.cpuMicros),
            unit: "µs/req",
          },
        );
      }
    }
  } finally {
    for (const { process } of subjects) process.kill();
  }
  return { name: "http", figures };
}

async function start(name: string, file: string): Promise<Subject> {
  const child = fork(file, [name], { execArgv: [] });
  const [port] = (await once(child, "message")) as [number];
  return { name, process: child, port };
}

/** Runs alternating rounds of the subjects, so that a busy machine slows them equally. Returns the medians of each. */
async function compare(subjects: readonly Subject[], method: "GET" | "POST", connections: number) {
  const readings = subjects.map((): { perSecond: number; cpuMicros: number }[] => []);
  for (let i = 0; i <= rounds; i++) {
    for (const [index, subject] of subjects.entries()) {
      const before = await cpu(subject);
      const count = await load(subject.port, method, connections);
      const micros = (await cpu(subject)) - before;
      if (i > 0)
        readings[index]?.push({ perSecond: (count * 1000) / roundMs, cpuMicros: micros / count });
    }
  }
  return readings.map((all) => ({
    perSecond: median(all.map((reading) => reading.perSecond)),
    cpuMicros: median(all.map((reading) => reading.cpuMicros)),
  }));
}

async function cpu({ process }: Subject): Promise<number> {
  process.send("cpu");
  const [usage] = (await once(process, "message")) as [NodeJS.CpuUsage];
  return usage.user + usage.system;
}

async function load(port: number, method: "GET" | "POST", connections: number): Promise<number> {
  const clients = Array.from({ length: connections }, () => new Client(`http://127.0.0.1:${port}`));
  const options = {
    path: "/item",
    method,
    headers: { authorization: "Bearer bench-token", "content-type": "application/json" },
    body: method === "POST" ? body : null,
  };
  const end = performance.now() + roundMs;
  let count = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        const { statusCode, body: answer } = await client.request(options);
        await answer.dump();
        if (statusCode !== 200) throw new Error(`unexpected status ${statusCode}`);
        count++;
      }
      await client.close();
    }),
  );
  return count;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
