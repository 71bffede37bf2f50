/**
 * The directories in which extensions are looked for. Hooks and plugins have the same roots, with the same names and
 * the same trust.
 */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Paths } from "../../contract/index.ts";

export interface Root {
  /** The root's name: `bundled` (the package's own), `extra`, `managed` (the home's), `workspace`. */
  name: string;
  dir: string;
  /** An extension in a root of higher rank replaces one of the same name in a lower one. */
  rank: number;
  /** The reason why nothing below the root may run, if the configured trust does not include it. */
  untrusted?: string;
}

/**
 * The highest root that each trust value loads. `builtin`, `home` and `all` are older names of `bundled`, `managed`,
 * `workspace`.
 */
const HIGHEST_ROOT = {
  bundled: "bundled",
  builtin: "bundled",
  managed: "managed",
  home: "managed",
  approved: "workspace",
  workspace: "workspace",
  all: "workspace",
};
export type Trust = keyof typeof HIGHEST_ROOT;

/** Whether the value is a trust value: a file may contain anything before it is validated. */
export const isTrust = (value: unknown): value is Trust =>
  typeof value === "string" && Object.hasOwn(HIGHEST_ROOT, value);

interface TrustSettings {
  trust: Trust;
  extraDirs?: readonly string[];
}

/** The roots whose extensions may run, lowest rank first. An unknown trust value allows only the package. */
export const listTrustedRoots = (
  kind: "hooks" | "plugins",
  paths: Paths,
  settings: TrustSettings,
): Root[] => listRoots(kind, paths, settings).filter(({ untrusted }) => untrusted === undefined);

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
  const lastTrusted = roots.findIndex(
    ({ name }) => name === (isTrust(trust) ? HIGHEST_ROOT[trust] : "bundled"),
  );
  const setting = `${kind}.trust is ${JSON.stringify(trust)}`;
  return roots.map((root, rank) =>
    rank <= lastTrusted
      ? { ...root, rank }
      : { ...root, rank, untrusted: `${setting}, which does not trust ${root.name} ${kind}` },
  );
}

/** Returns every directory that extensions may ever be loaded from, including those that are not trusted now. */
export const listExtensionDirs = (paths: Paths, extraDirs: readonly string[]): string[] =>
  (["hooks", "plugins"] as const).flatMap((kind) =>
    listTrustedRoots(kind, paths, { trust: "all", extraDirs }).map(({ dir }) => dir),
  );
