/**
 * Compiles the test files, and the programs that they start, to plain JavaScript: once per run, so that none of some 500
 * processes compiles the sources again. Every file keeps its directory in the sources. `portico` itself is built as for
 * its users.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { builtIn, extensions, faces } from "../../../.ci/build/built-in.ts";
import { buildProgram, copyLauncher } from "../../../.ci/build/program.ts";
import { engineOptions } from "./engine.ts";

const root = join(import.meta.dirname, "../../..");
const testDir = join(root, "test");

/** The directory of this run's compiled files, or undefined if a file runs by itself. */
const bundle = process.env["PORTICO_TEST_BUNDLE"];

/** Compiles into `outdir`, which must be in the package, as `.build` is. `files` are paths below `test/`. */
export async function bundleSuite(files: readonly string[], outdir: string): Promise<void> {
  copyLauncher(outdir);
  await Promise.all([bundleTests(files, outdir), buildProgram(outdir)]);
}

async function bundleTests(files: readonly string[], outdir: string): Promise<void> {
  const programs = readdirSync(testDir, { recursive: true, encoding: "utf8" }).filter(isProgram);
  const sources = [...files, ...programs].map((file) => join(testDir, file));
  await build({
    entryPoints: entries(sources),
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Binaries, packages that load files from their own directory, and packages that only tests use.
    external: [
      "esbuild",
      "libsql",
      "@libsql/*",
      "pino",
      "chokidar",
      "pg",
      ...developmentPackages(),
    ],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
    chunkNames: "chunk-[hash]",
    // The files do not name their maps, because Node would parse each map at every start.
    sourcemap: "external",
    sourcesContent: false,
    alias: { portico: join(root, "kernel/index.ts") },
    plugins: [
      builtIn([...extensions(), ...faces()]),
      facesOfPlugins,
      requiredLibrary,
      sourceMetaProperties,
    ],
    define: Object.fromEntries(
      metaProperties.map((name) => [`import.meta.${name}`, `__source_${name}`]),
    ),
    logLevel: "warning",
  });
}

/** Returns the arguments of `node` that run a source file, or its compiled form if there is one. */
export function program(file: string): string[] {
  const compiled = bundle && join(bundle, compiledName(file));
  return compiled && existsSync(compiled)
    ? [...engineOptions, compiled]
    : ["--import", import.meta.resolve("tsx"), file];
}

/** Returns the arguments of `node` that run `portico`. */
export const porticoProgram = (): string[] =>
  bundle ? [...engineOptions, join(bundle, "portico.cjs")] : program(join(root, "kernel/main.ts"));

function developmentPackages(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    devDependencies: object;
  };
  return Object.keys(manifest.devDependencies);
}

const isProgram = (file: string) => file.endsWith(".program.ts");

const compiledName = (file: string) => relative(root, file).replace(/\.ts$/, ".js");

function entries(files: readonly string[]): Record<string, string> {
  return Object.fromEntries(files.map((file) => [compiledName(file).replace(/\.js$/, ""), file]));
}

const facesOfPlugins: Plugin = {
  name: "faces-of-plugins",
  setup({ onResolve }) {
    onResolve({ filter: /^portico\// }, ({ path }) => {
      const name = path.slice("portico/".length);
      const face = join(root, "plugins", name, "index.ts");
      return { path: existsSync(face) ? face : join(root, "plugins", `${name}-kit`, "index.ts") };
    });
  },
};

/**
 * Requires a 7 MB CommonJS library instead of importing it, as the program does, because Node would scan its whole text for
 * exports.
 */
const requiredLibrary: Plugin = {
  name: "required-library",
  setup({ onResolve, onLoad }) {
    const namespace = "required";
    onResolve({ filter: /^playwright-core$/ }, ({ kind, path }) =>
      kind === "require-call" ? { path, external: true } : { path, namespace },
    );
    onLoad({ filter: /./, namespace }, ({ path }) => ({
      contents: `export const { chromium, devices } = require("${path}");`,
    }));
  },
};

const metaProperties = ["dirname", "filename", "url"] as const;

/** Replaces `import.meta` properties by those of the source, also in packages, so that files find their neighbours. */
const sourceMetaProperties: Plugin = {
  name: "own-places",
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const usedProperties = metaProperties.filter((name) => text.includes(`import.meta.${name}`));
      if (usedProperties.length === 0) return undefined;
      const source = { dirname: dirname(path), filename: path, url: pathToFileURL(path).href };
      const declarations = usedProperties.map(
        (name) => `const __source_${name} = ${JSON.stringify(source[name])};`,
      );
      return { contents: declarations.join("") + text, loader: path.endsWith("ts") ? "ts" : "js" };
    });
  },
};
