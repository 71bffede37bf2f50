/**
 * `npm run bench -- compare BASE [areas]`: the working tree beside another state of it, a reference proxy of node:http and
 * undici, and one on bare sockets. Short rounds of all in turn, so that a busy machine slows them alike; the median of
 * each with its quartiles, and the median of the rounds' own ratios. CPU is the truer figure where cores are shared.
 */
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { end } from "../harness/built.ts";
import { bundle } from "../harness/bundle.ts";
import type { Subject } from "../chat/chat-load.ts";
import { median, percentile } from "../harness/measure.ts";
import { type Area, areas, type Reading } from "./areas.ts";
import { builtBase } from "./base.ts";
import { pinned, startGateway, startPart } from "./subjects.ts";

const ROUNDS = 15;

/** `given`: BASE, a directory or a git ref, and the areas that are wanted; without them, all. */
export async function compare([base, ...wanted]: readonly string[]): Promise<void> {
  if (base === undefined) throw new Error("Name what to compare with: npm run bench -- compare BASE [areas]");
  const dirs = { base: builtBase(base), tree: builtBase(packageDir) };
  const parts = join(temporaryDir("portico-bench-"), "parts.mjs");
  await bundle("chat/chat-parts.ts", parts);
  console.log(pinned() ? "the subject on one core, load and upstream on another" : "cores are shared: look at CPU");
  for (const area of areas.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
    const children: ChildProcess[] = [];
    try {
      const subjects = await subjectsOf(area, dirs, parts, children);
      print(`${area.name}: ${area.what}`, await inTurn(subjects, area));
    } finally {
      await Promise.all(children.map(end));
    }
  }
}

type Name = "base" | "tree" | "reference" | "sockets";
const NAMES: readonly Name[] = ["base", "tree", "reference", "sockets"];
type Of<T> = Partial<Record<Name, T>> & Record<"tree", T>;

async function subjectsOf(
  { format }: Area,
  dirs: { base: string; tree: string },
  parts: string,
  children: ChildProcess[],
): Promise<Of<Subject>> {
  const role = format === undefined ? "upstream" : "formats";
  const { port: upstream } = await startPart(parts, [role], children, false);
  const proxied = String(upstream);
  const gateways = {
    base: await startGateway(dirs.base, { upstream, provider: format }, children),
    tree: await startGateway(dirs.tree, { upstream, provider: format }, children),
  };
  if (format !== undefined)
    return { ...gateways, reference: await startPart(parts, ["bare", proxied, format], children) };
  return {
    ...gateways,
    reference: await startPart(parts, ["bare", proxied], children),
    sockets: await startPart(parts, ["sockets", proxied], children),
  };
}

/** The first of several rounds warms up. */
async function inTurn(subjects: Of<Subject>, { run, once = false }: Area): Promise<Of<Reading[]>> {
  const seen: Of<Reading[]> = { tree: [] };
  const names = Object.keys(subjects) as Name[];
  const rounds = once ? 1 : ROUNDS;
  for (let round = once ? 1 : 0; round <= rounds; round++) {
    for (const name of names) {
      const reading = await run(subjects[name]!);
      if (round > 0) (seen[name] ??= []).push(reading);
    }
  }
  return seen;
}

function print(title: string, seen: Of<Reading[]>): void {
  const names = NAMES.filter((name) => seen[name] !== undefined);
  console.log(`\n${title}`);
  console.log(row("", [...names, "tree/base", "tree/reference"]));
  for (const figure of Object.keys(seen.tree[0]!)) {
    const of = (name: Name) => seen[name]!.map((reading) => reading[figure]!);
    const ratio = (to: Name) => median(of("tree").map((value, i) => value / of(to)[i]!)).toFixed(2);
    console.log(row(figure, [...names.map((name) => spread(of(name))), ratio("base"), ratio("reference")]));
  }
}

function spread(values: readonly number[]): string {
  if (values.length === 1) return shown(values[0]!);
  return `${shown(median(values))} (${shown(percentile(values, 0.25))}–${shown(percentile(values, 0.75))})`;
}

function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}

function row(head: string, cells: readonly string[]): string {
  return `  ${head.padEnd(22)}${cells.map((cell) => cell.padStart(24)).join("")}`;
}
