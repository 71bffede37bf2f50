/** Where extensions are looked for. Hooks and plugins have the same roots, the same names of them, and the same trust. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Paths } from "../types.ts";

export interface Root {
  /** `bundled` (the package's own), `extra`, `managed` (the home's), `workspace`. */
  name: string;
  dir: string;
  /** Higher replaces lower. */
  rank: number;
}

const trusts = ["bundled", "builtin", "managed", "home", "approved", "workspace", "all"] as const;
/** How far up extensions are loaded. `builtin`, `home` and `all` are older words for `bundled`, `managed`, `workspace`. */
export type Trust = (typeof trusts)[number];

/** False for what a file may say before anybody has checked it. */
export function isTrust(value: unknown): value is Trust {
  return trusts.some((trust) => trust === value);
}

const untrusted: Partial<Record<Trust, readonly string[]>> = {
  bundled: ["extra", "managed", "workspace"],
  builtin: ["extra", "managed", "workspace"],
  managed: ["workspace"],
  home: ["workspace"],
};

/** Lowest rank first: bundled, further directories in their order, managed, workspace. */
export function rootsOf(
  kind: "hooks" | "plugins",
  paths: Paths,
  { trust, extraDirs = [] }: { trust: Trust; extraDirs?: readonly string[] },
): Root[] {
  const roots = [
    { name: "bundled", dir: join(paths.package, kind) },
    ...extraDirs.map((dir) => ({ name: "extra", dir: resolve(paths.home, dir.replace(/^~(?=\/|$)/, homedir())) })),
    { name: "managed", dir: join(paths.home, kind) },
    { name: "workspace", dir: join(paths.workspace, kind) },
  ];
  return roots.map((root, rank) => ({ ...root, rank })).filter(({ name }) => !untrusted[trust]?.includes(name));
}
