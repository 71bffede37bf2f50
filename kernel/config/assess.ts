/**
 * Checks a configuration as a gateway would at its start: by the schemas, and by the owners' own checks of rules that
 * no schema can express (a reference to a missing channel, a schedule that never fires, a missing file).
 */
import { isPorticoError } from "../errors.ts";
import { formatKeyPath, isAtOrBelow } from "../text/key-path.ts";
import type { ConfigCheckSubject, ConfigFault, Paths } from "../contract/index.ts";
import type { Evaluation } from "./active.ts";
import type { ConfigProblem } from "./config-error.ts";
import { findLine } from "./evaluate.ts";
import type { Reading } from "./read.ts";
import type { SectionOwner, SectionRegistry } from "./sections.ts";

/** The information that checks may use in addition to the configuration. */
export interface Surroundings {
  paths?: Paths | undefined;
  /** Returns the names of contributions to a point; undefined if they cannot be known without running the plugins. */
  names?: ((point: string) => readonly string[] | undefined) | undefined;
}

export interface Assessment {
  /** The faults that checks found, each with its place in the file. */
  faults: ConfigProblem[];
  /** The owners whose check did not run, because one of their sections violates its schema. */
  unchecked: Set<string>;
}

/**
 * Runs the check of every owner, except those in `skippedOwners`, and those whose sections violate their schemas, on which
 * the check relies.
 */
export async function assess(
  reading: Reading,
  evaluated: Evaluation,
  sections: SectionRegistry,
  { paths, names = () => undefined }: Surroundings,
  skippedOwners: ReadonlySet<string> = new Set(),
): Promise<Assessment> {
  const brokenKeys = evaluated.problems().map(({ key }) => key);
  const unchecked = new Set<string>();
  const subject: ConfigCheckSubject = { config: evaluated.value, paths, names, env: reading.env };
  const results = sections.owners().map(async (owner) => {
    if (!owner.check || skippedOwners.has(owner.name)) return [];
    if (isBroken(owner, brokenKeys)) {
      unchecked.add(owner.name);
      return [];
    }
    return runCheck(owner, subject);
  });
  const faults = (await Promise.all(results)).flat();
  return { faults: keepOnePerPlace(faults).map((fault) => toProblem(fault, reading)), unchecked };
}

/** Whether a problem is in one of the owner's sections, or in an object that contains the section. */
function isBroken({ schemas }: SectionOwner, brokenKeys: readonly string[]): boolean {
  const prefixes = Object.keys(schemas).map((path) => path.replace(/\.?\*.*$/, ""));
  return brokenKeys.some((key) => prefixes.some((prefix) => isAtOrBelow(key, prefix)));
}

async function runCheck(
  { check }: SectionOwner,
  subject: ConfigCheckSubject,
): Promise<readonly ConfigFault[]> {
  try {
    const loaded = await check?.();
    return (await loaded?.default(subject)) ?? [];
  } catch (error) {
    const { message } = error as Error;
    return [
      { path: [], message: isPorticoError(error) ? message : `cannot be checked: ${message}` },
    ];
  }
}

/** Keeps one fault per place, because several plugins may check the same reference. */
function keepOnePerPlace(faults: readonly ConfigFault[]): ConfigFault[] {
  const byPlace = new Map<string, ConfigFault>();
  for (const fault of faults) {
    const key = formatKeyPath(fault.path);
    const place = key === "" ? fault.message : key;
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  return [...byPlace.values()];
}

function toProblem({ path, message, nearest, hint }: ConfigFault, reading: Reading): ConfigProblem {
  return { key: formatKeyPath(path), message, line: findLine(reading, path), nearest, hint };
}
