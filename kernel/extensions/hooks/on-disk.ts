/** One hook for those who judge it: what is known of it without making it active. */
import type { HookOnDisk } from "../../contract/records.ts";
import type { EventSpec } from "../../types.ts";
import type { Loader } from "../load/load.ts";
import { problemOf } from "../problem.ts";
import type { HookCandidate } from "./candidate.ts";
import type { Permission } from "./permission.ts";
import { describeEvent } from "./record.ts";
import { endVersion, loadHook } from "./version.ts";

export interface Judging {
  loader: Loader;
  specs: ReadonlyMap<string, EventSpec>;
  permission: Pick<Permission, "missing" | "mayRun">;
}

export function onDisk(candidate: HookCandidate, { loader, specs, permission }: Judging): HookOnDisk {
  const { name, dir, realDir, text, meta, refused, problem, warnings } = candidate;
  return {
    name,
    dir,
    text,
    descriptor: `${realDir}/HOOK.md`,
    events: (meta?.events ?? []).map((event) => describeEvent(event, specs)),
    failClosed: meta?.failClosed ?? false,
    refused,
    problem,
    missing: permission.missing(name, candidate),
    warnings,
    approved: permission.mayRun(candidate),
    async load() {
      try {
        await endVersion(await loadHook(candidate, loader));
        return undefined;
      } catch (thrown) {
        return problemOf(thrown, realDir, candidate.handler);
      }
    },
  };
}
