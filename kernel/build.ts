/**
 * Builds `.build/`: the kernel as JavaScript and every built-in plugin's bundle. Runs when the package is installed,
 * so that a start needs no compiler.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { discover, sourceNames } from "./extensions/discover.ts";
import { createPackageLoader } from "./extensions/package-loader.ts";

const packageDir = dirname(import.meta.dirname);
const outdir = join(packageDir, ".build");

rmSync(outdir, { recursive: true, force: true });
await buildKernel();
await buildExtensions();
pruneForeignBinaries();

async function buildKernel(): Promise<void> {
  await build({
    entryPoints: {
      portico: join(packageDir, "kernel/main.ts"),
      index: join(packageDir, "kernel/index.ts"),
      ...faces(),
    },
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    chunkNames: "chunk-[hash]",
    // Binaries, and what looks for files beside itself.
    external: ["esbuild", "libsql", "playwright-core", "pino", "chokidar", "@libsql/*"],
    banner: {
      js: "#!/usr/bin/env node\nimport{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    sourcemap: false,
    minifySyntax: true,
    logLevel: "warning",
  });
}

/** What plugins publish as `portico/<plugin>`. */
function faces(): Record<string, string> {
  const dir = join(packageDir, "plugins");
  const withFace = readdirSync(dir).filter((name) => existsSync(join(dir, name, "index.ts")));
  return Object.fromEntries(withFace.map((name) => [`faces/${name}`, join(dir, name, "index.ts")]));
}

/** One that cannot be bundled (without the development packages) shows as failed when the gateway runs. */
async function buildExtensions(): Promise<void> {
  const loader = createPackageLoader(packageDir);
  const own = (dir: string, names: string[]) =>
    discover([{ name: "bundled", dir: join(packageDir, dir), rank: 0 }], names);
  const all = [...own("plugins", sourceNames("plugin")), ...own("hooks", sourceNames("handler", "index"))];
  await Promise.all(
    all.map((found) =>
      loader.prepare(found.entry).catch((error: Error) => console.warn(`${found.name} is left out: ${error.message}`)),
    ),
  );
}

/** npm installs libsql's binary for both C libraries (10 MB each): the one that cannot run here goes. */
function pruneForeignBinaries(): void {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  if (process.platform !== "linux") return;
  const foreign = report?.header?.glibcVersionRuntime ? "musl" : "gnu";
  rmSync(join(packageDir, "node_modules", "@libsql", `linux-${process.arch}-${foreign}`), {
    recursive: true,
    force: true,
  });
}
