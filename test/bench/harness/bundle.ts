import { join } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a file below `bench/` into one module at `outfile`, like production code. A loader's additions for names and
 * source maps would otherwise be measured, too.
 */
export async function bundle(file: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, "..", file)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // the name `requiring` does not occur in the benchmarks
    banner: {
      js: 'import { createRequire as requiring } from "node:module"; const require = requiring(import.meta.url);',
    },
    logLevel: "error",
  });
}
