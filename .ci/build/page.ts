/** Builds the console's page: the files that browsers load, without comments and white space. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { outdir, packageDir } from "./common.ts";

/** Each file of `page/` becomes one file of `.build/page/`, so that the addresses stay the same. */
export async function buildPage(dir = join(outdir, "page")): Promise<void> {
  const sources = join(packageDir, "plugins/dashboard/page");
  const files = readdirSync(sources, { recursive: true, withFileTypes: true });
  await build({
    entryPoints: files
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => join(parentPath, name)),
    outbase: sources,
    outdir: dir,
    target: "esnext",
    charset: "utf8",
    minifySyntax: true,
    minifyWhitespace: true,
    loader: { ".html": "copy", ".svg": "copy" },
    logLevel: "warning",
  });
}
