import { dirname, join } from "node:path";
import type { BuildOptions } from "esbuild";

export const packageDir = dirname(dirname(import.meta.dirname));
export const outdir = join(packageDir, ".build");

/** Of everything that is built. */
export const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  logLevel: "warning",
} satisfies BuildOptions;
