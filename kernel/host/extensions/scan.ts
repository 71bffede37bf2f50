/** Finds and reads what there is below the roots of a kind, and groups it by name. */
import { isInside } from "../../files/own.ts";
import { discover } from "./discover.ts";
import { NOT_TRIED } from "./attempt.ts";
import type { Kind } from "./kind.ts";
import { groupByName, type Slot, type Version } from "./slot.ts";

export function createScan<V extends Version, S extends Slot<V>>(
  kind: Kind<V, S, unknown>,
  slots: Map<string, S>,
) {
  /** By directory, as they were read. */
  const known = new Map<string, V["candidate"]>();
  /** A directory that cannot be read keeps the name that it had. */
  const lastName = new Map<string, string>();

  /** With `dirs`, reads only what these directories belong to. A name that is gone stays, without candidates. */
  async function scan(dirs?: ReadonlySet<string>): Promise<void> {
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
    kind.scanned?.(candidates);
  }

  /** Compiles what runs and has changed there, and runs nothing of it: the scan that follows finds it done. */
  async function compile(dirs: ReadonlySet<string>): Promise<void> {
    const running = [...slots.values()].flatMap(({ active }) => active?.version.candidate ?? []);
    await Promise.allSettled(
      running.filter((one) => touches(one, dirs)).map(({ source }) => source?.refresh()),
    );
  }

  function touches({ dir, source }: V["candidate"], dirs: ReadonlySet<string>): boolean {
    const isBelow = (input: string) => [...dirs].some((one) => isInside(input, one));
    return dirs.has(dir) || (source?.inputs.some(isBelow) ?? false);
  }

  return {
    scan,
    compile,
    /** The next scan reads it again, even where nothing has changed. */
    forget: ({ dir }: V["candidate"]): void => void known.delete(dir),
  };
}
