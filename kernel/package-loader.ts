/**
 * Creates the loader of a gateway, which provides `portico` and the faces of plugins, and stores bundles where they may
 * be written.
 */
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { basename, dirname, join, relative } from "node:path";
import { builtIn } from "./built-in.ts";
import { isBundled } from "./files/own.ts";
import { sha } from "./files/sha.ts";
import { Loader } from "./loader/load.ts";
import { LoadError } from "./loader/problem.ts";
import type { Paths } from "./contract/index.ts";

/**
 * Returns the loader of a home. The package's own modules are part of the program; if it runs from its sources, their
 * bundles are in `.build/cache`. The bundles of users are in the home. Source maps cost time at each load, so only the
 * files that users write (and edit) have them.
 */
export function loaderFor({
  package: packageDir,
  state,
}: Pick<Paths, "package" | "state">): Loader {
  const isOwn = (entry: string) => isBundled(entry, packageDir);
  return new Loader({
    builtIn: (entry) => builtIn.get(relative(packageDir, entry)),
    host: (id) => hostModule(id, packageDir),
    cacheFile: (entry) =>
      join(isOwn(entry) ? join(packageDir, ".build") : state, "cache", cacheName(entry)),
    isOwn,
  });
}

/** Loads a host module: `portico` is this kernel, `portico/<name>` the face of the plugin `<name>` or `<name>-kit`. */
async function hostModule(id: string, packageDir: string): Promise<unknown> {
  if (id === "portico") return import("./index.ts");
  const name = id.slice("portico/".length);
  const faces = [`plugins/${name}/index.ts`, `plugins/${name}-kit/index.ts`];
  for (const face of faces) {
    const built = builtIn.get(face);
    if (built) return built();
  }
  const file = faces.map((face) => join(packageDir, face)).find((path) => existsSync(path));
  if (!/^portico\/[a-z0-9-]+$/.test(id) || file === undefined)
    throw new LoadError(
      `no plugin publishes ${id}: "exports" in package.json must list the index.ts of the plugin`,
    );
  return import(pathToFileURL(file).href);
}

/** Returns a file name that is readable and different for each entry. */
export const cacheName = (entry: string): string =>
  `${basename(dirname(entry))}-${sha(entry).slice(0, 12)}.cjs`;
