/** Builds `.build/`: the program as JavaScript. Runs when the package is installed, so that a start needs no compiler. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMetaReader } from "../kernel/host/extensions/hooks/meta-cache.ts";
import { readPlugins } from "../kernel/host/extensions/plugins/candidate.ts";
import { indexFile } from "../kernel/home/command-index.ts";
import { loaderFor } from "../kernel/package-loader.ts";
import { extensions } from "./build/built-in.ts";
import { outdir, packageDir } from "./build/common.ts";
import { buildFaces, emitTypes } from "./build/faces.ts";
import { buildPage } from "./build/page.ts";
import { buildProgram, copyLauncher } from "./build/program.ts";

// The first `npx portico` in a clone runs `prepare` again. The files must stay, because a gateway may be running from
// them.
const { npm_command: command, npm_lifecycle_event: script } = process.env;
if (command === "exec" && script === "prepare" && existsSync(join(outdir, "portico.cjs")))
  process.exit();

const loader = loaderFor({ package: packageDir, state: outdir });

rmSync(outdir, { recursive: true, force: true });
await buildProgram();
copyLauncher();
await buildFaces();
await buildPage();
await fillCache();
const plugins = await readBuiltInPlugins();
indexCommands();
await buildDocumentation();
emitTypes();
pruneForeignBinaries();

function readBuiltInPlugins() {
  const roots = [{ name: "bundled", dir: join(packageDir, "plugins"), rank: 0 }];
  return readPlugins(roots, loader);
}

/** Builds the documentation. The packages for it are development packages; without them, there is no documentation. */
async function buildDocumentation(): Promise<void> {
  if (!existsSync(join(packageDir, "node_modules/markdown-it"))) {
    console.warn("markdown-it is not installed: the documentation is not built");
    return;
  }
  const { buildDocs } = await import("./docs/build.ts");
  await buildDocs(plugins.flatMap(({ meta }) => meta ?? []));
}

/**
 * Writes an index of which built-in plugin is the command line and which has a command word, so that only their
 * definitions have to be loaded.
 */
function indexCommands(): void {
  const words = plugins.flatMap(({ name, meta }) =>
    [...(meta?.commandLine ? [""] : []), ...Object.keys(meta?.commands ?? {})].map((word) => [
      word,
      name,
    ]),
  );
  writeFileSync(indexFile(packageDir), JSON.stringify(words));
}

/**
 * Fills the cache with the bundled extensions, for the program that runs from its sources, and with the front matter of
 * the bundled hooks, for every program.
 */
async function fillCache(): Promise<void> {
  await Promise.all(extensions().map((path) => loader.read(join(packageDir, path))));
  const readMeta = createMetaReader({ package: packageDir, state: outdir });
  for (const path of extensions().filter((extension) => extension.startsWith("hooks/"))) {
    const file = join(packageDir, dirname(path), "HOOK.md");
    await readMeta(file, readFileSync(file, "utf8"));
  }
}

/** npm installs libsql's binary for both C libraries (10 MB each). This removes the one that cannot run here. */
function pruneForeignBinaries(): void {
  const report = process.report?.getReport() as
    | { header?: { glibcVersionRuntime?: string } }
    | undefined;
  if (process.platform !== "linux") return;
  const foreign = report?.header?.glibcVersionRuntime ? "musl" : "gnu";
  rmSync(join(packageDir, "node_modules", "@libsql", `linux-${process.arch}-${foreign}`), {
    recursive: true,
    force: true,
  });
}
