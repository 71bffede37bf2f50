import { dirname, join } from "node:path";
import type { CommonOptions } from "esbuild";

export const packageDir = dirname(dirname(import.meta.dirname));
export const outdir = join(packageDir, ".build");

/** The options of all builds. */
export const common = {
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  logLevel: "warning",
} satisfies CommonOptions;
