/**
 * Builds `.build/`: the kernel as JavaScript and every built-in plugin's bundle. Runs when the package is installed,
 * so that a start needs no compiler.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { discover, sourceNames } from "../kernel/extensions/discover.ts";
import { createMetaReader } from "../kernel/extensions/hooks/meta-cache.ts";
import { readPlugins } from "../kernel/extensions/plugins/candidate.ts";
import { indexFile } from "../kernel/home/command-index.ts";
import { holdYoungGeneration } from "../kernel/home/young-generation.ts";
import { createPackageLoader } from "../kernel/package-loader.ts";

const packageDir = dirname(import.meta.dirname);
const outdir = join(packageDir, ".build");

holdYoungGeneration(); // as the program does: what is compiled here is for it
rmSync(outdir, { recursive: true, force: true });
await buildKernel();
await buildExtensions();
await indexCommands();
emitTypes();
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
    external: ["esbuild", "libsql", "playwright-core", "@libsql/*"],
    banner: {
      js: "#!/usr/bin/env node\nimport{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    sourcemap: false,
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 200,
    logLevel: "warning",
  });
}

/** Which built-in plugin is the command line, and which has a command word: only their definitions are then loaded. */
async function indexCommands(): Promise<void> {
  const roots = [{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }];
  const plugins = await readPlugins(roots, createPackageLoader(packageDir));
  const words = plugins.flatMap(({ name, meta }) =>
    [...(meta?.commandLine ? [""] : []), ...Object.keys(meta?.commands ?? {})].map((word) => [word, name]),
  );
  writeFileSync(indexFile(packageDir), JSON.stringify(Object.fromEntries(words)));
}

/** What plugins publish as `portico/<plugin>`. */
function faces(): Record<string, string> {
  const dir = join(packageDir, "plugins");
  const withFace = readdirSync(dir).filter((name) => existsSync(join(dir, name, "index.ts")));
  return Object.fromEntries(withFace.map((name) => [`faces/${name}`, join(dir, name, "index.ts")]));
}

/**
 * What authors of plugins and hooks type-check against: declarations only, since our sources would cost them seconds.
 * Without the development packages there is no compiler; a packed product brings the declarations along.
 */
function emitTypes(): void {
  const require = createRequire(import.meta.url);
  let compiler: string;
  try {
    compiler = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");
  } catch {
    console.warn("typescript is not installed: editors find no types of this installation");
    return;
  }
  const types = join(outdir, "types");
  const project = join(outdir, "tsconfig.types.json");
  const paths = { portico: ["../kernel/index.ts"], "portico/*": ["../plugins/*/index.ts"] };
  const compilerOptions = { noEmit: false, emitDeclarationOnly: true, declaration: true, incremental: false };
  writeFileSync(
    project,
    JSON.stringify({
      extends: "../tsconfig.json",
      compilerOptions: { ...compilerOptions, rootDir: "..", outDir: "types", paths },
      include: ["../kernel/index.ts", "../plugins/*/index.ts"],
    }),
  );
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", project], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the declarations could not be made:\n${stdout}`);
  // One entry that knows what every plugin adds to events, services and contributions.
  const withFace = Object.keys(faces()).map((face) => face.slice("faces/".length));
  const imports = withFace.map((name) => `import "./plugins/${name}/index.js";`);
  writeFileSync(join(types, "index.d.ts"), ['export * from "./kernel/index.js";', ...imports, ""].join("\n"));
}

/** One that cannot be bundled (without the development packages) shows as failed when the gateway runs. */
async function buildExtensions(): Promise<void> {
  const loader = createPackageLoader(packageDir);
  const own = (dir: string, names: string[]) =>
    discover([{ name: "bundled", dir: join(packageDir, dir), rank: 0 }], names);
  const hooks = own("hooks", sourceNames("handler", "index"));
  const all = [...own("plugins", sourceNames("plugin")), ...hooks];
  await Promise.all(
    all.map((found) =>
      loader.prepare(found.entry).catch((error: Error) => console.warn(`${found.name} is left out: ${error.message}`)),
    ),
  );
  const readMeta = createMetaReader({ package: packageDir, state: outdir });
  for (const { dir } of hooks) await readMeta(join(dir, "HOOK.md"), readFileSync(join(dir, "HOOK.md"), "utf8"));
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
