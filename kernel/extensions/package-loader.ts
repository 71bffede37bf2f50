/** The loader as a gateway uses it: hands `portico` in, and keeps bundles where they may be written. */
import { homedir } from "node:os";
import { join } from "node:path";
import * as portico from "../index.ts";
import { isInside } from "./discover.ts";
import { createLoader, type Loader } from "./load.ts";

/**
 * The package's own bundles lie in `.build/cache` and are made when it is installed; those of users in `userCache`.
 * Source maps cost time at each load, so only what users write (and edit) has them.
 */
export function createPackageLoader(packageDir: string, userCache = join(homedir(), ".cache", "portico")): Loader {
  const isOwn = (entry: string) => isInside(entry, packageDir);
  return createLoader({
    host: { portico },
    cacheDir: (entry) => (isOwn(entry) ? join(packageDir, ".build", "cache") : userCache),
    sourceMaps: (entry) => !isOwn(entry),
  });
}
