import { join } from "node:path";
import { build } from "esbuild";

/**
 * A file below `bench/` as one module at `outfile`, made as production's are: what a loader adds for names and source
 * maps would be measured otherwise.
 */
export async function bundle(file: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, "..", file)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // under a name that no file of the bench has
    banner: {
      js: 'import { createRequire as requiring } from "node:module"; const require = requiring(import.meta.url);',
    },
    logLevel: "error",
  });
}
