/**
 * Judges a configuration as a gateway would at its start: by the schemas, and by the owners' own checks, which know what
 * no schema can say (a reference to a channel that is not there, a schedule that never comes, a file that is missing).
 */
import { isPorticoError } from "../errors.ts";
import { formatKeyPath, isAtOrBelow } from "../text/key-path.ts";
import type { ConfigCheckSubject, ConfigFault, Paths } from "../contract/index.ts";
import type { Evaluated } from "./active.ts";
import type { ConfigProblem } from "./config-error.ts";
import { lineOf } from "./evaluate.ts";
import type { Reading } from "./read.ts";
import type { SectionOwner, SectionRegistry } from "./sections.ts";

/** What checks may ask about beside the configuration itself. */
export interface Surroundings {
  paths?: Paths | undefined;
  /** The names that plugins add to a point; undefined where they cannot be known without running the plugins. */
  names?: ((point: string) => readonly string[] | undefined) | undefined;
}

export interface Assessment {
  /** What checks found, with the place of each in the file. */
  faults: ConfigProblem[];
  /** Owners whose check did not run, because one of their sections breaks its schema. */
  unchecked: Set<string>;
}

/**
 * Runs every owner's check. An owner whose sections break their schemas is passed over, since its check relies on them;
 * so are those that `passOver` names.
 */
export async function assess(
  reading: Reading,
  evaluated: Evaluated,
  sections: SectionRegistry,
  { paths, names = () => undefined }: Surroundings,
  passOver: ReadonlySet<string> = new Set(),
): Promise<Assessment> {
  const broken = evaluated.problems().map(({ key }) => key);
  const unchecked = new Set<string>();
  const subject: ConfigCheckSubject = { config: evaluated.value, paths, names, env: reading.env };
  const results = sections.owners().map(async (owner) => {
    if (!owner.check || passOver.has(owner.name)) return [];
    if (isBroken(owner, broken)) {
      unchecked.add(owner.name);
      return [];
    }
    return runCheck(owner, subject);
  });
  const faults = (await Promise.all(results)).flat();
  return { faults: distinct(faults).map((fault) => toProblem(fault, reading)), unchecked };
}

/** True where a problem is in one of the owner's sections, or in what the section is part of. */
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

/** Several plugins may check one reference: the first to name it is enough. */
function distinct(faults: readonly ConfigFault[]): ConfigFault[] {
  const byPlace = new Map<string, ConfigFault>();
  for (const fault of faults) {
    const key = formatKeyPath(fault.path);
    const place = key === "" ? fault.message : key;
    if (!byPlace.has(place)) byPlace.set(place, fault);
  }
  return [...byPlace.values()];
}

function toProblem({ path, message, nearest, hint }: ConfigFault, reading: Reading): ConfigProblem {
  return { key: formatKeyPath(path), message, line: lineOf(reading, path), nearest, hint };
}
