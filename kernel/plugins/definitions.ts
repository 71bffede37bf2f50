/** From a directory to a plugin's definition, without setting anything up. */
import { join } from "node:path";
import type { Paths, PluginDefinition } from "../types.ts";
import { type Found, type Root, sourceNames } from "../extensions/discover.ts";
import type { LoadedModule, Loader } from "../extensions/load.ts";
import { UnsafeError, whyInputsUnsafe } from "../extensions/safety.ts";

export interface Loaded {
  found: Found;
  module: LoadedModule;
  definition: PluginDefinition;
  loadMs: number;
}

export const pluginEntryNames = sourceNames("plugin");

/** From low to high priority; `plugins.trust` says how far up they are loaded (`builtin`, `home`, `workspace`, `all`). */
export function pluginRoots(paths: Paths, trust: string): Root[] {
  const roots = [
    { name: "bundled", dir: join(paths.package, "plugins"), rank: 0 },
    { name: "home", dir: join(paths.home, "plugins"), rank: 1 },
    { name: "workspace", dir: join(paths.workspace, "plugins"), rank: 2 },
  ];
  return roots.slice(0, { builtin: 1, workspace: 3, all: 3 }[trust] ?? 2);
}

/** Loads every definition without setting anything up: for schemas and commands. */
export async function loadDefinitions(
  all: readonly Found[],
  loader: Loader,
): Promise<{ found: Found; definition?: PluginDefinition; error?: Error }[]> {
  return Promise.all(
    all.map(async (found) => {
      try {
        // The package's own are as safe as this code.
        if (found.root.name !== "bundled") await versionOnDisk(found, loader);
        return { found, definition: (await loadPlugin(found, loader)).definition };
      } catch (error) {
        return { found, error: error as Error };
      }
    }),
  );
}

/** The hash of the version on disk, without running it. Throws `LoadError` or `UnsafeError`. */
export async function versionOnDisk(found: Found, loader: Loader): Promise<string> {
  if (found.refused) throw new UnsafeError(found.refused);
  const { hash, inputs } = await loader.compile(found.entry);
  const unsafe = whyInputsUnsafe(found, inputs);
  if (unsafe) throw new UnsafeError(unsafe);
  return hash;
}

/** Throws `LoadError` where it does not load, and an Error where it is no plugin. */
export async function loadPlugin(found: Found, loader: Loader): Promise<Loaded> {
  const began = performance.now();
  const module = await loader.load(found.entry);
  const definition = module.exports["default"] as PluginDefinition | undefined;
  if (
    typeof definition !== "object" ||
    typeof definition?.name !== "string" ||
    typeof definition.setup !== "function"
  ) {
    throw new Error("plugin.ts must have a default export made by definePlugin({ name, setup })");
  }
  return { found, module, definition, loadMs: performance.now() - began };
}
