/**
 * Two workers beside one, at chats that keep the gateway's cores busy. Where there are four cores, load and upstream have
 * two of them for themselves, and requests a second are compared; elsewhere they would take them from the workers, and
 * only what a request costs is. Also what a further worker takes of the memory.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { temporaryDir } from "../support/temporary.ts";
import { exchange, open, requestOf, type Subject } from "./chat/chat-load.ts";
import { build, end, startBuilt } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { cpuMicros, familyOf, median, shareMegabytes, ratios, residentMegabytes } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 15;
const REQUESTS = 3000;
/** For each worker, until what is compiled as it is used has been. */
const WARM_UP = 8000;
/** For each worker: those that come in together share some of the work. */
const CONNECTIONS = 64;
const IDLE_MS = 5000;
/** A conversation of 16 kB: for the gateway to read, and for the load only to send. */
const MESSAGES = Array.from({ length: 80 }, (_, i) => ({
  role: i % 2 === 0 ? "user" : "assistant",
  content: "some words of an ordinary conversation. ".repeat(5),
}));

interface Reading {
  perSecond: number;
  /** Of all its processes. */
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
        main: { provider: "openai", baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: "sk-bench-0123456789" },
      };
      const { child, port: own, token } = await startBuilt({ gateway: { port: 0, workers }, channels });
      children.push(child);
      if (isApart) for (const pid of familyOf(child.pid!)) pin(pid, `2-${cores - 1}`);
      return { name: `${workers}`, port: own, headers: `authorization: Bearer ${token}\r\n`, process: child };
    };
    const subjects = [await start(1), await start(2)] as const;
    // what a start leaves to be done is done
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const idle = memoryOf(subjects[1]);
    const [one, two] = await inTurn(subjects);
    const rate = ratios(
      two.map(({ perSecond }) => perSecond),
      one.map(({ perSecond }) => perSecond),
    );
    const cost = ratios(
      two.map(({ micros }) => micros),
      one.map(({ micros }) => micros),
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
        { what: "2 workers: CPU of all processes", value: median(two.map(({ micros }) => micros)), unit: "µs/req" },
        { what: "2 workers: CPU, ratio", ...cost, unit: "×", ratioTo: "1 worker", limit: 1.1 },
        ...idle,
      ],
    };
  } finally {
    await Promise.all(children.map(end));
  }
}

/** The process and all its threads. */
function pin(pid: number, cores: string): boolean {
  return spawnSync("taskset", ["-apc", cores, String(pid)]).status === 0;
}

/** The youngest is the further worker. */
function memoryOf({ process: { pid } }: Subject): Figure[] {
  const further = Math.max(...familyOf(pid!));
  return [
    { what: "a further idle worker: resident", value: residentMegabytes(further), unit: "MB", limit: 70 },
    {
      what: "a further idle worker: with its share of what is shared (PSS)",
      value: shareMegabytes(further),
      unit: "MB",
    },
  ];
}

/** Rounds in turn, over connections that are kept: to hand them out costs what it costs once. */
async function inTurn(subjects: readonly [Subject, Subject]): Promise<[Reading[], Reading[]]> {
  const seen: [Reading[], Reading[]] = [[], []];
  const sockets = await Promise.all(
    subjects.map((subject) =>
      Promise.all(Array.from({ length: CONNECTIONS * Number(subject.name) }, () => open(subject))),
    ),
  );
  for (const [at, subject] of subjects.entries())
    await load(subject, sockets[at] as Socket[], WARM_UP * Number(subject.name));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, subject] of subjects.entries())
      seen[at]?.push(await load(subject, sockets[at] as Socket[], REQUESTS));
  }
  for (const socket of sockets.flat()) socket.destroy();
  return seen;
}

async function load(subject: Subject, sockets: readonly Socket[], count: number): Promise<Reading> {
  const request = requestOf(subject, { messages: MESSAGES });
  const processes = familyOf(subject.process.pid!);
  const used = () => processes.reduce((sum, pid) => sum + cpuMicros(pid), 0);
  let left = count;
  const cpu = used();
  const began = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      while (left-- > 0) await exchange(socket, request);
    }),
  );
  const perSecond = count / ((performance.now() - began) / 1000);
  return { perSecond, micros: (used() - cpu) / count };
}
