/** Reads hooks on disk as the gateway would, by the current configuration file. */
import { NOT_TRIED } from "../host/extensions/attempt.ts";
import { basename, dirname } from "node:path";
import { ConfigError } from "../config/config-error.ts";
import { readConfigFile } from "../config/read.ts";
import { expandReferences } from "../config/references.ts";
import { discover } from "../host/extensions/discover.ts";
import { type HookCandidate, hookEntryNames } from "../host/extensions/hooks/candidate.ts";
import { createPermission } from "../host/extensions/hooks/permission.ts";
import { describeHook, type HookInfo } from "../host/extensions/hooks/record.ts";
import type { HookSettings } from "../host/extensions/hooks/settings.ts";
import { createHealth } from "../host/extensions/hooks/version.ts";
import type { Loader } from "../loader/load.ts";
import { isTrust, listRoots, type Root } from "../host/extensions/roots.ts";
import { groupByName } from "../host/extensions/slot.ts";
import { lookUp } from "../text/key-path.ts";
import type { Paths } from "../contract/index.ts";

type Env = Record<string, string | undefined>;

export function openHooks({ paths, env, loader }: { paths: Paths; env: Env; loader: Loader }) {
  process.setSourceMapsEnabled(true);
  const raw = readSettings(paths.config, env);
  const settings: HookSettings = {
    enabled: true,
    entries: {},
    extraDirs: [],
    trust: "all",
    ...raw.hooks,
  };
  // The meaning of any other value is unknown.
  if (!isTrust(settings.trust)) settings.trust = "approved";
  const lookup = (key: string) => lookUp(raw, key);
  const permission = createPermission({
    paths,
    env: () => env,
    loader,
    settings: () => settings,
    lookup,
  });
  const read = (roots: readonly Root[]) =>
    Promise.all(discover(roots, hookEntryNames).map(permission.read));
  const show = (top: HookCandidate): HookInfo => {
    const slot = {
      name: top.name,
      candidates: [top],
      duplicates: [],
      top,
      disabled: new Map(),
      attempt: NOT_TRIED,
      health: createHealth(),
    };
    return describeHook(slot, top, { permission, loader });
  };

  return {
    /** Returns all hooks, or those of one name: for each name the one that should run, and its duplicates. */
    async byName(onlyName?: string): Promise<HookInfo[]> {
      const groups = groupByName(await read(listRoots("hooks", paths, settings)));
      const chosen = [...groups].filter(([name]) => onlyName === undefined || name === onlyName);
      const all = chosen.flatMap(([, { candidates, duplicates }]) => [
        ...candidates.slice(0, 1),
        ...duplicates,
      ]);
      return all.map(show);
    },
    /** Reads one directory anywhere on disk; undefined if it is not a hook. */
    async directory(dir: string): Promise<HookInfo | undefined> {
      const candidates = await read([{ name: "directory", dir: dirname(dir), rank: 0 }]);
      const candidate = candidates.find((other) => basename(other.dir) === basename(dir));
      return candidate && show(candidate);
    },
  };
}
export type HooksOnDisk = ReturnType<typeof openHooks>;

/** Reads the settings. The trust of an invalid configuration is unknown, so hooks then need an approval. */
function readSettings(file: string, env: Env): { hooks?: Partial<HookSettings> } {
  try {
    return expandReferences(readConfigFile(file), env).value as { hooks?: Partial<HookSettings> };
  } catch (error) {
    if (error instanceof ConfigError) return { hooks: { trust: "approved" } };
    throw error;
  }
}
