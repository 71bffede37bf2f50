/** Where extensions are looked for. Hooks and plugins have the same roots, the same names of them, and the same trust. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Paths } from "../../contract/index.ts";

export interface Root {
  /** `bundled` (the package's own), `extra`, `managed` (the home's), `workspace`. */
  name: string;
  dir: string;
  /** Higher replaces lower. */
  rank: number;
  /** Why nothing below it may run, where the trust of the configuration does not reach it. */
  untrusted?: string;
}

/** The highest root that is loaded. `builtin`, `home` and `all` are older words for `bundled`, `managed`, `workspace`. */
const highest = {
  bundled: "bundled",
  builtin: "bundled",
  managed: "managed",
  home: "managed",
  approved: "workspace",
  workspace: "workspace",
  all: "workspace",
};
export type Trust = keyof typeof highest;

/** False for what a file may say before anybody has checked it. */
export const isTrust = (value: unknown): value is Trust =>
  typeof value === "string" && Object.hasOwn(highest, value);

interface TrustSettings {
  trust: Trust;
  extraDirs?: readonly string[];
}

/** The roots whose extensions may run, lowest rank first. An unknown trust value allows only the package. */
export const rootsOf = (kind: "hooks" | "plugins", paths: Paths, settings: TrustSettings): Root[] =>
  listRoots(kind, paths, settings).filter(({ untrusted }) => untrusted === undefined);

/** All roots, also those that are not trusted: bundled, further directories in their order, managed, workspace. */
export function listRoots(
  kind: "hooks" | "plugins",
  paths: Paths,
  { trust, extraDirs = [] }: TrustSettings,
): Root[] {
  const roots = [
    { name: "bundled", dir: join(paths.package, kind) },
    ...extraDirs.map((dir) => ({
      name: "extra",
      dir: resolve(paths.home, dir.replace(/^~(?=\/|$)/, homedir())),
    })),
    { name: "managed", dir: join(paths.home, kind) },
    { name: "workspace", dir: join(paths.workspace, kind) },
  ];
  const last = roots.findIndex(
    ({ name }) => name === (isTrust(trust) ? highest[trust] : "bundled"),
  );
  const setting = `${kind}.trust is ${JSON.stringify(trust)}`;
  return roots.map((root, rank) =>
    rank <= last
      ? { ...root, rank }
      : { ...root, rank, untrusted: `${setting}, which does not trust ${root.name} ${kind}` },
  );
}

/** Every directory that extensions may be loaded from, whether or not its trust is enough today. */
export const extensionDirs = (paths: Paths, extraDirs: readonly string[]): string[] =>
  (["hooks", "plugins"] as const).flatMap((kind) =>
    rootsOf(kind, paths, { trust: "all", extraDirs }).map(({ dir }) => dir),
  );
