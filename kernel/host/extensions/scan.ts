/** Finds and reads the extensions below the roots of a kind, and groups them by name. */
import { isInside } from "../../files/own.ts";
import { discover } from "./discover.ts";
import { NOT_TRIED } from "./attempt.ts";
import type { Kind } from "./kind.ts";
import { groupByName, type Slot, type Version } from "./slot.ts";

export function createScan<V extends Version, S extends Slot<V>>(
  kind: Kind<V, S, unknown>,
  slots: Map<string, S>,
) {
  /** The candidates of the last scan, by directory. */
  const knownCandidates = new Map<string, V["candidate"]>();
  /** The last name of each directory: one that becomes unreadable keeps its name. */
  const lastName = new Map<string, string>();

  /**
   * Scans the roots. With `dirs`, reads only the extensions that these directories belong to. A name whose directories
   * are removed keeps its slot, without candidates.
   */
  async function scan(dirs?: ReadonlySet<string>): Promise<void> {
    const candidates = await Promise.all(
      discover(kind.roots(), kind.entryNames).map((directory) => {
        const previous = knownCandidates.get(directory.dir);
        return previous && dirs && !touches(previous, dirs)
          ? previous
          : kind.read(directory, previous);
      }),
    );
    knownCandidates.clear();
    for (const candidate of candidates) {
      if (candidate.meta) lastName.set(candidate.dir, candidate.name);
      else candidate.name = lastName.get(candidate.dir) ?? candidate.name;
      knownCandidates.set(candidate.dir, candidate);
    }
    const groups = groupByName(candidates);
    const empty = { candidates: [], duplicates: [] };
    for (const name of groups.keys()) {
      if (!slots.has(name))
        slots.set(name, {
          name,
          disabled: new Map(),
          generation: 0,
          attempt: NOT_TRIED,
          ...kind.slot(name),
          ...empty,
        } as unknown as S);
    }
    for (const slot of slots.values()) Object.assign(slot, groups.get(slot.name) ?? empty);
    kind.onScanned?.(candidates);
  }

  /**
   * Compiles the active extensions that changed in these directories, without running them: the following scan finds
   * the result.
   */
  async function compile(dirs: ReadonlySet<string>): Promise<void> {
    const activeCandidates = [...slots.values()].flatMap(
      ({ active }) => active?.version.candidate ?? [],
    );
    await Promise.allSettled(
      activeCandidates
        .filter((candidate) => touches(candidate, dirs))
        .map(({ source }) => source?.refresh()),
    );
  }

  function touches({ dir, source }: V["candidate"], dirs: ReadonlySet<string>): boolean {
    const isBelow = (input: string) => [...dirs].some((changedDir) => isInside(input, changedDir));
    return dirs.has(dir) || (source?.inputs.some(isBelow) ?? false);
  }

  return {
    scan,
    compile,
    /** Makes the next scan read the candidate again, even if nothing has changed. */
    forget: ({ dir }: V["candidate"]): void => void knownCandidates.delete(dir),
  };
}
