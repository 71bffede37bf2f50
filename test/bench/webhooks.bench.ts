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
import { WAKES, wakes, warmUp } from "./compare/areas/webhooks.ts";
import type { Reading } from "./compare/area.ts";
import { build, end, startBuilt, type Subject } from "./harness/built.ts";
import { bundle } from "./harness/bundle.ts";
import { median, ratios } from "./harness/measure.ts";
import type { Bench, Figure } from "./run.ts";

const ROUNDS = 20;
/** Of each server, before its first round: an engine compiles by calls, and a gateway that runs for days has had them. */
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

const allOf = (readings: readonly Reading[], figure: string) => readings.map((one) => one[figure]!);
const of = (readings: readonly Reading[], figure: string) => median(allOf(readings, figure));

function figuresOf(what: string, ours: readonly Reading[]): Figure[] {
  return [
    { what: `durable wakes, ${what}`, value: of(ours, "wakes/s"), unit: "req/s" },
    { what: `the same: 99th percentile`, value: of(ours, "p99 ms"), unit: "ms", limit: 50 },
    { what: `the same: CPU`, value: of(ours, "CPU µs/wake"), unit: "µs/req" },
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
    { what: `bare server, ${name}`, value: of(theirs, "wakes/s"), unit: "req/s" },
    { what: `bare server, ${name}: CPU`, value: of(theirs, "CPU µs/wake"), unit: "µs/req" },
    {
      what: `${what}: ratio`,
      ...ratios(allOf(ours, "wakes/s"), allOf(theirs, "wakes/s")),
      unit: "×",
      ratioTo: name,
      limit,
      bound: "min",
    },
  ];
}

/** Short rounds in turn, so that a busy machine slows all of them alike. */
async function inTurn<K extends string>(
  subjects: Record<K, Subject>,
  connections: keyof typeof WARM_UP,
): Promise<Record<K, Reading[]>> {
  const names = Object.keys(subjects) as K[];
  const seen = Object.fromEntries(names.map((name) => [name, [] as Reading[]])) as Record<
    K,
    Reading[]
  >;
  for (const name of names) await warmUp(subjects[name], connections, WARM_UP[connections]);
  for (let round = 0; round < ROUNDS; round++)
    for (const name of names) seen[name].push(await wakes(subjects[name], connections));
  return seen;
}
