/**
 * Compares two workers with one, with chats that keep the gateway's cores busy. With four cores or more, load and upstream
 * have two cores of their own, and requests per second are compared. With fewer, they share cores with the workers, so only
 * the cost of a request is compared, also with two independent gateways under load at the same time, because two processes
 * compete for the processor's caches in any case. Also measures the memory of an additional worker.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { temporaryDir } from "../../support/temporary.ts";
import { exchange, open, chatRequest } from "../chat/chat-load.ts";
import { build, end, startBuilt, type Subject } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import {
  cpuMicros,
  familyOf,
  median,
  shareMegabytes,
  ratios,
  residentMegabytes,
} from "../harness/measure.ts";
import type { Bench, Figure } from "../run.ts";

const ROUNDS = 15;
const REQUESTS = 3000;
/** The warm-up requests for each worker, after which V8 has optimised the code. */
const WARM_UP = 8000;
/** The number of connections for each worker. Concurrent requests share some of the work. */
const CONNECTIONS = 64;
const IDLE_MS = 5000;
/** A conversation of 16 kB. The gateway must parse it, while the load generator only sends it. */
const MESSAGES = Array.from({ length: 80 }, (_, i) => ({
  role: i % 2 === 0 ? "user" : "assistant",
  content: "some words of an ordinary conversation. ".repeat(5),
}));

interface Reading {
  perSecond: number;
  /** The processor time of all processes per request in µs. */
  micros: number;
}

export default async function bench(): Promise<Bench> {
  const cores = availableParallelism();
  const isApart = cores >= 4 && pin(process.pid, "0,1");
  build();
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  const children: ChildProcess[] = [];
  try {
    const upstream = fork(parts, ["upstream"], { execArgv: [] });
    children.push(upstream);
    const [{ port }] = (await once(upstream, "message")) as [{ port: number }];
    const start = async (workers: number): Promise<Subject> => {
      const channels = {
        main: {
          provider: "openai",
          baseUrl: `http://127.0.0.1:${port}/v1`,
          apiKey: "sk-bench-0123456789",
        },
      };
      const gateway = await startBuilt({ config: { gateway: { port: 0, workers }, channels } });
      children.push(gateway.process);
      if (isApart) for (const pid of familyOf(gateway.process.pid!)) pin(pid, `2-${cores - 1}`);
      return { ...gateway, name: `${workers}` };
    };
    const subjects = [
      [await start(1)],
      [await start(2)],
      [await start(1), await start(1)],
    ] as const;
    // lets the gateways complete their start
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const idle = memoryOf(subjects[1][0]);
    const [one, two, pair] = await measureInTurns(subjects);
    const rate = ratios(
      two.map(({ perSecond }) => perSecond),
      one.map(({ perSecond }) => perSecond),
    );
    const costBeside = (others: readonly Reading[]) =>
      ratios(
        two.map(({ micros }) => micros),
        others.map(({ micros }) => micros),
      );
    return {
      name: `workers (${cores} cores${isApart ? ", two of them for load and upstream" : ": too few to tell them from the load"})`,
      figures: [
        { what: "1 worker", value: median(one.map(({ perSecond }) => perSecond)), unit: "req/s" },
        { what: "2 workers", value: median(two.map(({ perSecond }) => perSecond)), unit: "req/s" },
        {
          what: "2 workers: ratio",
          ...rate,
          unit: "×",
          ratioTo: "1 worker",
          ...(isApart && { limit: 1.7, bound: "min" }),
        },
        { what: "1 worker: CPU", value: median(one.map(({ micros }) => micros)), unit: "µs/req" },
        {
          what: "2 workers: CPU of all processes",
          value: median(two.map(({ micros }) => micros)),
          unit: "µs/req",
        },
        {
          what: "2 workers: CPU, ratio",
          ...costBeside(one),
          unit: "×",
          ratioTo: "1 worker",
          limit: 1.1,
        },
        {
          what: "2 workers: CPU, ratio",
          ...costBeside(pair),
          unit: "×",
          ratioTo: "2 gateways at once",
          limit: 1.1,
        },
        ...idle,
      ],
    };
  } finally {
    await Promise.all(children.map(end));
  }
}

/** Pins a process with all its threads to cores. */
function pin(pid: number, cores: string): boolean {
  return spawnSync("taskset", ["-apc", cores, String(pid)]).status === 0;
}

/** Measures the memory of the additional worker, which is the process with the highest id. */
function memoryOf({ process: { pid } }: Subject): Figure[] {
  const additional = Math.max(...familyOf(pid!));
  return [
    {
      what: "a further idle worker: resident",
      value: residentMegabytes(additional),
      unit: "MB",
      limit: 70,
    },
    {
      what: "a further idle worker: with its share of what is shared (PSS)",
      value: shareMegabytes(additional),
      unit: "MB",
    },
  ];
}

type Loaded = readonly [Subject, ...Subject[]];
type Readings = [one: Reading[], two: Reading[], pair: Reading[]];

/** Runs alternating rounds over persistent connections, so that the distribution of connections costs only once. */
async function measureInTurns(subjects: readonly [Loaded, Loaded, Loaded]): Promise<Readings> {
  const readings: Readings = [[], [], []];
  const sockets = new Map<Subject, Socket[]>();
  for (const subject of subjects.flat()) {
    const count = CONNECTIONS * Number(subject.name);
    sockets.set(subject, await Promise.all(Array.from({ length: count }, () => open(subject))));
    await load([subject], sockets, WARM_UP * Number(subject.name));
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, loaded] of subjects.entries())
      readings[at]?.push(await load(loaded, sockets, REQUESTS));
  }
  for (const socket of [...sockets.values()].flat()) socket.destroy();
  return readings;
}

/** Sends `count` requests, in equal parts to all subjects at the same time. */
async function load(
  loaded: Loaded,
  sockets: ReadonlyMap<Subject, Socket[]>,
  count: number,
): Promise<Reading> {
  const processes = loaded.flatMap(({ process: { pid } }) => familyOf(pid!));
  const totalCpu = () => processes.reduce((sum, pid) => sum + cpuMicros(pid), 0);
  const cpu = totalCpu();
  const began = performance.now();
  await Promise.all(
    loaded.map(async (subject) => {
      const request = chatRequest(subject, { messages: MESSAGES });
      let remaining = count / loaded.length;
      const ask = async (socket: Socket) => {
        while (remaining-- > 0) await exchange(socket, request);
      };
      await Promise.all((sockets.get(subject) ?? []).map(ask));
    }),
  );
  const perSecond = count / ((performance.now() - began) / 1000);
  return { perSecond, micros: (totalCpu() - cpu) / count };
}
