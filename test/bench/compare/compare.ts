/**
 * `npm run bench -- compare BASE [areas]`: the working tree beside another state of it, and for chats also a reference
 * proxy of node:http and undici, and one on bare sockets. Short rounds of all in turn, so that a busy machine slows them
 * alike; half of them with the base started first, half with it started second: what starts second is about 1 % slower.
 * CPU is the truer figure where cores are shared.
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
import { chatSubjectsOf, type Dirs, gatewaysOf, type Name, type Of, pinned } from "./subjects.ts";
import { legend, print } from "./table.ts";

const ROUNDS = 16;

/** `given`: BASE, a directory or a git ref, and the areas that are wanted; without them, all. */
export async function compare([base, ...wanted]: readonly string[]): Promise<void> {
  if (base === undefined)
    throw new Error("Name what to compare with: npm run bench -- compare BASE [areas]");
  const names = [...areas.chat, ...areas.gateway].map(({ name }) => name);
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(`No area is called ${unknown.join(", ")}: there are ${names.join(", ")}`);
  const isWanted = ({ name }: { name: string }) => wanted.length === 0 || wanted.includes(name);
  const dirs = { base: builtBase(base), now: builtBase(packageDir) };
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  console.log(
    pinned()
      ? "the subject on one core, load and upstream on another"
      : "cores are shared: look at CPU",
  );
  console.log(legend);
  for (const area of areas.chat.filter(isWanted))
    await show(area, dirs, (inOrder, children) => chatSubjectsOf(area, inOrder, parts, children));
  for (const area of areas.gateway.filter(isWanted))
    await show(area, dirs, (inOrder, children) => gatewaysOf(area, inOrder, children));
}

/** Starts what is in `dirs`, in this order, and adds the processes to `children`. */
type Start<S> = (dirs: Dirs, children: ChildProcess[]) => Promise<Of<S>>;

/** An area that fails leaves the others to be measured. */
async function show<S>(
  area: Rounds<S> & { name: string; what: string },
  dirs: Dirs,
  start: Start<S>,
): Promise<void> {
  try {
    print(area, await readings(area, dirs, start));
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

/** Of all rounds, by subject. Each second group of processes is started in the opposite order. */
async function readings<S>(
  { begin, rounds = ROUNDS, fresh = false, warmUps = fresh ? 0 : 1 }: Rounds<S>,
  { base, now }: Dirs,
  start: Start<S>,
): Promise<Of<Reading[]>> {
  const seen: Of<Reading[]> = { base: [], now: [] };
  const groups = fresh ? rounds : 2;
  for (let group = 0; group < groups; group++) {
    const children: ChildProcess[] = [];
    try {
      const subjects = Object.entries(
        await start(group % 2 === 0 ? { base, now } : { now, base }, children),
      );
      const begun: [Name, Round][] = [];
      for (const [name, subject] of subjects as [Name, S][])
        begun.push([name, await begin(subject)]);
      await inTurn(begun, { warmUps, rounds: rounds / groups }, (name, reading) => {
        seen[name] ??= [];
        seen[name].push(reading);
      });
    } finally {
      await Promise.all(children.map(end));
    }
  }
  return seen;
}

/** Each second round in the opposite order: what one leaves behind would always meet the same one. */
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
