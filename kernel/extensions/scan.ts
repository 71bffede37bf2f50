/** Finds and reads what there is below the roots of a kind, and groups it by name. */
import { discover, type Found } from "./discover.ts";
import type { Root } from "./roots.ts";
import { type Candidate, groupByName } from "./slot.ts";

/** How one kind of extension is told of on disk. */
export interface Scanned<C extends Candidate, S> {
  entryNames: readonly string[];
  roots(): readonly Root[];
  slot(name: string): S;
  /** Reads a directory without running anything of it that is not trusted. Never throws: what is wrong stands in the candidate. */
  read(found: Found, before: C | undefined): Promise<C>;
  /** Told of every candidate there is, after each scan. */
  scanned?(candidates: readonly C[]): void;
}

export function createScan<C extends Candidate, S extends { readonly name: string }>(
  kind: Scanned<C, S>,
  slots: Map<string, S>,
) {
  /** By directory, as they were read. */
  const known = new Map<string, C>();
  /** A directory that cannot be read keeps the name that it had. */
  const lastName = new Map<string, string>();

  /** Finds and reads; with `dirs`, reads only what these directories belong to. Answers the slots that are gone. */
  async function scan(dirs?: ReadonlySet<string>): Promise<S[]> {
    const candidates = await Promise.all(
      discover(kind.roots(), kind.entryNames).map((found) => {
        const before = known.get(found.dir);
        return before && dirs && !touches(before, dirs) ? before : kind.read(found, before);
      }),
    );
    known.clear();
    for (const candidate of candidates) {
      if (candidate.meta) lastName.set(candidate.dir, candidate.name);
      else candidate.name = lastName.get(candidate.dir) ?? candidate.name;
      known.set(candidate.dir, candidate);
    }
    const groups = groupByName(candidates);
    for (const [name, group] of groups) {
      const slot = slots.get(name) ?? kind.slot(name);
      slots.set(name, Object.assign(slot, group));
    }
    kind.scanned?.(candidates);
    return [...slots.values()].filter((slot) => !groups.has(slot.name));
  }

  function touches({ dir, source }: C, dirs: ReadonlySet<string>): boolean {
    const isBelow = (input: string) => [...dirs].some((one) => input === one || input.startsWith(`${one}/`));
    return dirs.has(dir) || (source?.inputs.some(isBelow) ?? false);
  }

  return {
    scan,
    /** It is read anew, whatever it was. */
    forget: ({ dir }: C): void => void known.delete(dir),
  };
}
