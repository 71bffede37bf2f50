/** Builds the program that `portico` runs. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { builtIn, extensions, faces } from "./built-in.ts";
import { common, outdir, packageDir } from "./common.ts";

/**
 * Packages that every start needs. They become part of the program, which then reads a few files instead of several
 * hundred. Node loads all other packages from `node_modules` when the program first uses them.
 */
const startingPackages = [
  "@humanwhocodes/momoa",
  "@sinclair/typebox",
  "chokidar",
  "croner",
  "gray-matter",
  "ipaddr.js",
  "node-cron",
  "picomatch",
  "pino",
  "polka",
  "ws",
];

/**
 * Bundles the kernel, the plugins and the bundled hooks into `program.js` and its chunks. esbuild splits at each
 * `import()`, so that a start reads only what it needs.
 *
 * In a directory other than `.build`, the program behaves as if it were in `.build`.
 */
export async function buildProgram(dir = outdir): Promise<void> {
  const isElsewhere = dir !== outdir;
  await build({
    ...common,
    bundle: true,
    absWorkingDir: packageDir,
    entryPoints: { program: join(packageDir, "kernel/main.ts") },
    splitting: true,
    format: "esm",
    outdir: dir,
    chunkNames: "chunk-[hash]",
    // CommonJS packages inside the bundle call `require` for Node's own modules. Few chunks contain such a package, so
    // each chunk creates its `require` at the first call.
    banner: {
      js: 'import{createRequire as createRequireOfChunk}from"node:module";let requireOfChunk;const require=name=>(requireOfChunk??=createRequireOfChunk(import.meta.url))(name);',
    },
    ...(isElsewhere && { define: { "import.meta.dirname": JSON.stringify(outdir) } }),
    external: packagesOutside(),
    plugins: [builtIn([...extensions(), ...faces()])],
  });
}

/** Copies the launcher: two files of plain CommonJS, since an old Node must be able to read the first. */
export function copyLauncher(dir = outdir): void {
  mkdirSync(dir, { recursive: true });
  for (const name of ["portico.cjs", "run-program.cjs"])
    copyFileSync(join(packageDir, "kernel/launcher", name), join(dir, name));
  // npm makes the file executable when it installs the package, but not in a fresh clone.
  chmodSync(join(dir, "portico.cjs"), 0o755);
}

/**
 * Names the packages that stay outside of the bundle. A development package that is not installed stays outside as
 * well: the module that imports it fails when it runs, not when it is built.
 */
function packagesOutside(): string[] {
  const manifest = JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")) as Manifest;
  const { dependencies, peerDependencies, devDependencies } = manifest;
  const missing = Object.keys(devDependencies).filter(
    (name) => !existsSync(join(packageDir, "node_modules", name)),
  );
  const loadedLater = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => !startingPackages.includes(name),
  );
  return [...loadedLater, ...missing];
}

type Manifest = Record<
  "dependencies" | "peerDependencies" | "devDependencies",
  Record<string, string>
>;
