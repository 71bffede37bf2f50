/** Where hooks are looked for. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Root } from "../../extensions/discover.ts";
import type { Paths } from "../../types.ts";

/** Lowest rank first: bundled, `hooks.extraDirs` in their order, managed, workspace. */
export function hookRoots(paths: Paths, extraDirs: readonly string[]): Root[] {
  const roots = [
    { name: "bundled", dir: join(paths.package, "hooks") },
    ...extraDirs.map((dir) => ({ name: "extra", dir: resolve(paths.home, dir.replace(/^~(?=\/|$)/, homedir())) })),
    { name: "managed", dir: join(paths.home, "hooks") },
    { name: "workspace", dir: join(paths.workspace, "hooks") },
  ];
  return roots.map((root, rank) => ({ ...root, rank }));
}
