import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { faces } from "./built-in.ts";
import { common, outdir, packageDir } from "./common.ts";

/** Builds the modules that authors import from the package without a gateway, as in their own tests. */
export async function buildFaces(): Promise<void> {
  const entryPoints = faces().map((face) => [`faces/${faceName(face)}`, join(packageDir, face)]);
  await build({
    ...common,
    bundle: true,
    entryPoints: { index: join(packageDir, "kernel/index.ts"), ...Object.fromEntries(entryPoints) },
    outdir,
    splitting: true,
    format: "esm",
    chunkNames: "faces/chunk-[hash]",
    packages: "external",
  });
}

/**
 * Returns the name of a face: `portico/<name>` is in the folder `<name>`, or in `<name>-kit` if other folders begin
 * with the name.
 */
function faceName(face: string): string {
  return basename(dirname(face)).replace(/-kit$/, "");
}

/**
 * Writes the declarations against which authors of plugins and hooks type-check; our sources would cost them seconds.
 * Without the development packages there is no compiler; a packed product includes the declarations.
 */
export function emitTypes(): void {
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
  const paths = {
    portico: ["../kernel/index.ts"],
    "portico/*": ["../plugins/*/index.ts", "../plugins/*-kit/index.ts"],
  };
  const compilerOptions = {
    noEmit: false,
    emitDeclarationOnly: true,
    declaration: true,
    incremental: false,
  };
  writeFileSync(
    project,
    JSON.stringify({
      extends: "../tsconfig.json",
      compilerOptions: { ...compilerOptions, rootDir: "..", outDir: "types", paths },
      include: ["../kernel/index.ts", "../plugins/*/index.ts"],
    }),
  );
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", project], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the declarations could not be made:\n${stdout}`);
  // One entry with the members that every plugin adds to events, services and contributions. It references Node's
  // types, because an author's project may not.
  const imports = faces().map((face) => `import "./${face.replace(/\.ts$/, ".js")}";`);
  const lines = [
    '/// <reference types="node" />',
    'export * from "./kernel/index.js";',
    ...imports,
    "",
  ];
  writeFileSync(join(types, "index.d.ts"), lines.join("\n"));
}
