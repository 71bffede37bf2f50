/**
 * `npm run bench -- compare BASE [areas]` compares the working tree with another state of it, and for chats also with a
 * reference proxy of node:http and undici and with one on bare sockets. Short rounds of all subjects alternate, so that a
 * busy machine slows them equally. In half of the rounds the base was started first, in the other half second, since the
 * process that starts second is about 1 % slower. On shared cores, CPU is the more reliable figure.
 */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { end } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import type { Reading, Round } from "./area.ts";
import { areas } from "./areas/all.ts";
import { builtBase } from "./base.ts";
import {
  chatSubjectsOf,
  type Dirs,
  gatewaysOf,
  type Name,
  type Of,
  pinToFirstCore,
} from "./subjects.ts";
import { legend, print } from "./table.ts";

const ROUNDS = 16;

/** Runs a comparison. `base` is a directory or a git ref. Without names of areas, all areas are compared. */
export async function compare([base, ...areaNames]: readonly string[]): Promise<void> {
  if (base === undefined)
    throw new Error("Name what to compare with: npm run bench -- compare BASE [areas]");
  const names = [...areas.chat, ...areas.gateway].map(({ name }) => name);
  const unknown = areaNames.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(`No area is called ${unknown.join(", ")}: there are ${names.join(", ")}`);
  const isWanted = ({ name }: { name: string }) =>
    areaNames.length === 0 || areaNames.includes(name);
  const dirs = { base: builtBase(base), now: builtBase(packageDir) };
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  console.log(
    pinToFirstCore()
      ? "the subject on one core, load and upstream on another"
      : "cores are shared: look at CPU",
  );
  console.log(legend);
  for (const area of areas.chat.filter(isWanted))
    await measureArea(area, dirs, (inOrder, children) =>
      chatSubjectsOf(area, inOrder, parts, children),
    );
  for (const area of areas.gateway.filter(isWanted))
    await measureArea(area, dirs, (inOrder, children) => gatewaysOf(area, inOrder, children));
}

/** Starts the builds in `dirs` in this order, and adds the processes to `children`. */
type Start<S> = (dirs: Dirs, children: ChildProcess[]) => Promise<Of<S>>;

/** Measures an area and prints its table. If it fails, the other areas are still measured. */
async function measureArea<S>(
  area: Rounds<S> & { name: string; what: string },
  dirs: Dirs,
  start: Start<S>,
): Promise<void> {
  try {
    print(area, await collectReadings(area, dirs, start));
  } catch (error) {
    console.error(`\n${area.name}: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

interface Rounds<S> {
  begin(subject: S): Round | Promise<Round>;
  rounds?: number;
  fresh?: boolean;
  warmUps?: number;
}

/** Returns the readings of all rounds by subject. Every second group of processes is started in the opposite order. */
async function collectReadings<S>(
  { begin, rounds = ROUNDS, fresh = false, warmUps = fresh ? 0 : 1 }: Rounds<S>,
  { base, now }: Dirs,
  start: Start<S>,
): Promise<Of<Reading[]>> {
  const readings: Of<Reading[]> = { base: [], now: [] };
  const groups = fresh ? rounds : 2;
  for (let group = 0; group < groups; group++) {
    const children: ChildProcess[] = [];
    try {
      const subjects = Object.entries(
        await start(group % 2 === 0 ? { base, now } : { now, base }, children),
      );
      const startedRounds: [Name, Round][] = [];
      for (const [name, subject] of subjects as [Name, S][])
        startedRounds.push([name, await begin(subject)]);
      await inTurn(startedRounds, { warmUps, rounds: rounds / groups }, (name, reading) => {
        readings[name] ??= [];
        readings[name].push(reading);
      });
    } finally {
      await Promise.all(children.map(end));
    }
  }
  return readings;
}

/**
 * Runs the rounds. Every second one has the opposite order, so that the after-effects of a subject do not always hit the
 * same one.
 */
async function inTurn(
  subjects: readonly [Name, Round][],
  { warmUps, rounds }: { warmUps: number; rounds: number },
  done: (name: Name, reading: Reading) => void,
): Promise<void> {
  for (let n = -warmUps; n < rounds; n++) {
    for (const [name, round] of n % 2 === 0 ? subjects : [...subjects].reverse()) {
      const reading = await round();
      if (n >= 0) done(name, reading);
    }
  }
}
