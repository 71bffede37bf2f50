/**
 * Measures durable wakes per second, compared with bare servers for the same bodies. With one connection, these are a server
 * that inserts into SQLite and syncs, which is the project's benchmark, and one that appends to a file and syncs. With 64,
 * they are a server that commits all requests of a group together, and one that appends a group to a file.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { packageDir } from "../support/gateway.ts";
import { temporaryDir } from "../support/temporary.ts";
import { WAKES, wakes, warmUp } from "./compare/areas/webhooks.ts";
import type { Reading } from "./compare/area.ts";
import { build, end, startBuilt, type Subject } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { median, ratios } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 20;
/**
 * The warm-up requests of each server by connections. V8 optimises after many calls, which a gateway that runs for days has
 * had.
 */
const WARM_UP = { 1: 5_000, 64: 20_000 };

export default async function bench(): Promise<Bench> {
  const dir = temporaryDir("portico-bench-");
  const children: ChildProcess[] = [];
  try {
    const outfile = join(dir, "subject.mjs");
    await bundle("subjects/webhooks-subject.ts", outfile);
    const bare = async (mode: string): Promise<Subject> => {
      const child = fork(outfile, [mode, join(dir, `${mode}.log`), packageDir], { execArgv: [] });
      children.push(child);
      const [port] = (await once(child, "message")) as [number];
      return { name: mode, port, headers: "", process: child };
    };
    const [insert, append] = [await bare("insert"), await bare("append")];
    const [commit, group] = [await bare("commit"), await bare("group")];
    build();
    const ours = await startBuilt({ config: WAKES });
    children.push(ours.process);
    const lone = await measureInTurns({ ours, insert, append }, 1);
    const many = await measureInTurns({ ours, commit, group, append }, 64);
    return {
      name: "webhooks",
      figures: [
        ...figuresOf("1 connection", lone.ours),
        ...compareFigures("1 connection", lone.ours, "an insert and its sync", lone.insert, 0.8),
        ...compareFigures("1 connection", lone.ours, "an append and its sync", lone.append, 0.8),
        ...figuresOf("64 connections", many.ours),
        ...compareFigures("64 connections", many.ours, "a commit for each group", many.commit, 0.6),
        ...compareFigures("64 connections", many.ours, "an append for each group", many.group, 0.6),
        ...compareFigures("64 connections", many.ours, "an append and its sync", many.append, 3),
      ],
    };
  } finally {
    await Promise.all(children.map(end));
  }
}

const valuesOf = (readings: readonly Reading[], figure: string) =>
  readings.map((reading) => reading[figure]!);
const medianOf = (readings: readonly Reading[], figure: string) =>
  median(valuesOf(readings, figure));

function figuresOf(what: string, ours: readonly Reading[]): Figure[] {
  return [
    { what: `durable wakes, ${what}`, value: medianOf(ours, "wakes/s"), unit: "req/s" },
    { what: `the same: 99th percentile`, value: medianOf(ours, "p99 ms"), unit: "ms", limit: 50 },
    { what: `the same: CPU`, value: medianOf(ours, "CPU µs/wake"), unit: "µs/req" },
  ];
}

function compareFigures(
  what: string,
  ours: readonly Reading[],
  name: string,
  theirs: readonly Reading[],
  limit: number,
): Figure[] {
  return [
    { what: `bare server, ${name}`, value: medianOf(theirs, "wakes/s"), unit: "req/s" },
    { what: `bare server, ${name}: CPU`, value: medianOf(theirs, "CPU µs/wake"), unit: "µs/req" },
    {
      what: `${what}: ratio`,
      ...ratios(valuesOf(ours, "wakes/s"), valuesOf(theirs, "wakes/s")),
      unit: "×",
      ratioTo: name,
      limit,
      bound: "min",
    },
  ];
}

/** Runs short alternating rounds, so that a busy machine slows all subjects equally. */
async function measureInTurns<K extends string>(
  subjects: Record<K, Subject>,
  connections: keyof typeof WARM_UP,
): Promise<Record<K, Reading[]>> {
  const names = Object.keys(subjects) as K[];
  const readings = Object.fromEntries(names.map((name) => [name, [] as Reading[]])) as Record<
    K,
    Reading[]
  >;
  for (const name of names) await warmUp(subjects[name], connections, WARM_UP[connections]);
  for (let round = 0; round < ROUNDS; round++)
    for (const name of names) readings[name].push(await wakes(subjects[name], connections));
  return readings;
}
