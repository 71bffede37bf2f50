/** The loader as a gateway uses it: hands in `portico` and the faces of plugins, and keeps bundles where they may be written. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { basename, dirname, join, relative } from "node:path";
import * as portico from "./index.ts";
import { isInside } from "./files/own.ts";
import { createLoader, type Loader } from "./modules/load.ts";
import { LoadError } from "./modules/problem.ts";
import type { Paths } from "./types.ts";

/** That of a home. */
export function loaderFor({ package: packageDir, state }: Paths): Loader {
  return createPackageLoader(packageDir, join(state, "cache"));
}

/**
 * The package's own bundles lie in `.build/cache` and are made when it is installed; those of users in `userCache`.
 * Source maps cost time at each load, so only what users write (and edit) has them. A development dependency that a
 * built-in plugin imports is bundled into it: a user's installation does not need the package.
 */
export function createPackageLoader(packageDir: string, userCache?: string): Loader {
  const ownCache = join(packageDir, ".build", "cache");
  const isOwn = (entry: string) => isInside(entry, packageDir);
  const manifest = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as {
    devDependencies?: Record<string, string>;
  };
  const development = Object.keys(manifest.devDependencies ?? {});
  return createLoader({
    host: (id) => hostModule(id, packageDir),
    cacheFile: (entry) =>
      isOwn(entry)
        ? join(ownCache, cacheName(entry, relative(packageDir, entry)))
        : join(userCache ?? ownCache, cacheName(entry, entry)),
    own: (entry) => (isOwn(entry) ? { packages: development } : undefined),
  });
}

/** `portico` is this kernel; `portico/<plugin>` the face that a plugin of the package publishes. */
async function hostModule(id: string, packageDir: string): Promise<unknown> {
  if (id === "portico") return portico;
  const name = id.slice("portico/".length);
  const isSource = import.meta.filename.endsWith(".ts");
  const file = isSource
    ? join(packageDir, "plugins", name, "index.ts")
    : join(import.meta.dirname, "faces", `${name}.js`);
  if (!/^[a-z0-9-]+$/.test(name) || !existsSync(file)) {
    throw new LoadError(`no plugin publishes ${id}: a plugin's face is its index.ts, listed in the package's exports`);
  }
  return import(pathToFileURL(file).href);
}

/** Readable, and different for each key. */
export function cacheName(entry: string, key: string): string {
  return `${basename(dirname(entry))}-${createHash("sha256").update(key).digest("hex").slice(0, 12)}.cjs`;
}
