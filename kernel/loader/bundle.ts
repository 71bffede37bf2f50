/**
 * Bundles a module with esbuild to CommonJS text, or reads the cached bundle. Every input is read once, and the same
 * bytes are hashed and bundled, so a file that changes meanwhile does not affect this bundle.
 */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import type { Loader as EsbuildLoader, Plugin } from "esbuild";
import { listFilesBelow } from "../files/listing.ts";
import { sha } from "../files/sha.ts";
import { writeCache, readCached } from "./cache.ts";
import { asLoadError } from "./problem.ts";
import { mayLoop, tickName } from "./loop-guard.ts";
import { importMetaDefines, withImportMeta } from "./import-meta.ts";

interface Input {
  /** The path relative to the entry's directory, because bundle and entry may move together. */
  path: string;
  size: number;
  mtimeMs: number;
  hash: string;
}

export interface Bundle {
  /**
   * A function expression, as Node wraps CommonJS. The wrapper is on the first line, so that line numbers stay
   * unchanged.
   */
  code: string;
  codeHash: string;
  /** The modules that it imports from the gateway itself. */
  host: string[];
  inputs: Input[];
  /** The targets of its relative imports as written, relative to the entry's directory. */
  imports: string[];
}

export interface BundleOptions {
  /**
   * True for the package's own modules: they have no source maps, which cost time at load, and a file counts as
   * unchanged if its size and modification time are. The contents of all other files are read, because anyone who
   * replaces a file can give it any modification time.
   */
  isOwn: boolean;
  /** Includes packages in the bundle; otherwise they are required at run time. */
  includesPackages: boolean;
  /** Makes loops call the loop guard. */
  guarded: boolean;
  /** Called with the absolute path of each relative import, even if it resolves to nothing. */
  onImport(path: string): void;
}

let esbuild: typeof import("esbuild") | undefined; // loaded for the first bundle that is not cached

/** The version of the cache format; increase it when the format changes. */
const cacheVersion = 14;

/** Returns the cached bundle if its inputs are unchanged; otherwise builds and caches one. Throws `LoadError`. */
export async function openBundle(
  file: string,
  entry: string,
  options: BundleOptions,
): Promise<Bundle> {
  const cached = readCached<{ version: number; layout: string } & Omit<Bundle, "code">>(file);
  const layout = options.isOwn ? "" : hashLayout(dirname(entry));
  if (cached?.head.version === cacheVersion && cached.head.layout === layout) {
    const { inputs, codeHash, host, imports } = cached.head;
    const isIntact = () => options.isOwn || sha(cached.body).slice(0, 32) === codeHash;
    if (inputs.every((input) => isUnchanged(input, dirname(entry), options.isOwn)) && isIntact()) {
      for (const path of imports) options.onImport(resolve(dirname(entry), path));
      return { code: cached.body.toString(), codeHash, host, inputs, imports };
    }
  }
  const { code, ...head } = await build(entry, options);
  writeCache(file, { version: cacheVersion, layout, ...head }, code);
  return { code, ...head };
}

/** Returns a hash of all names and link targets, because the resolution of imports depends on these too. */
function hashLayout(dir: string): string {
  const files = listFilesBelow(dir, "node_modules", ".git");
  return sha(
    files
      .map(({ path, entry }) => (entry.isSymbolicLink() ? readlinkSync(join(dir, path)) : path))
      .join("\n"),
  );
}

function isUnchanged(input: Input, dir: string, byStamp: boolean): boolean {
  const file = resolve(dir, input.path);
  const currentStat = statSync(file, { throwIfNoEntry: false });
  if (!currentStat || currentStat.size !== input.size) return false;
  return (
    (byStamp && currentStat.mtimeMs === input.mtimeMs) || sha(readFileSync(file)) === input.hash
  );
}

async function build(entry: string, options: BundleOptions): Promise<Bundle> {
  const { isOwn, includesPackages, guarded } = options;
  esbuild ??= await import("esbuild");
  const dir = dirname(entry);
  const inputs = new Map<string, Input>();
  const imports = new Set<string>();
  const onImport = (path: string): void => {
    imports.add(relative(dir, path));
    options.onImport(path);
  };
  const result = await esbuild
    .build({
      entryPoints: [`./${basename(entry)}`], // a whole path with a * would be a pattern
      absWorkingDir: dir,
      bundle: true,
      write: false,
      format: "cjs",
      platform: "node",
      target: "node20",
      packages: includesPackages ? "bundle" : "external",
      external: ["portico", "portico/*"],
      // No tsconfig.json is read: its `paths` and `jsxFactory` would let its author choose what runs.
      tsconfigRaw: "{}",
      plugins: [readInputsOnce(dir, inputs), ...(isOwn ? [] : [reportImports(onImport)])],
      metafile: true,
      sourcemap: isOwn ? false : "inline",
      sourcesContent: false,
      logLevel: "silent",
      logOverride: { "empty-import-meta": "silent" },
      supported: { "dynamic-import": false },
      define: importMetaDefines,
    })
    .catch((failure: unknown) => {
      throw asLoadError(failure, entry);
    });
  const text = result.outputFiles[0]?.text ?? "";
  const body =
    guarded && mayLoop(text) ? (await import("./guard-loops.ts")).guardLoops(text, tickName) : text;
  const code = `(function(exports,require,module,__filename,__dirname,${tickName}){${body}\n})`;
  const importedPaths = Object.values(result.metafile.outputs).flatMap((output) =>
    output.imports.map(({ path }) => path),
  );
  const host = [...new Set(importedPaths.filter((path) => /^portico(\/|$)/.test(path)))];
  const sorted = [...inputs.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { code, codeHash: sha(code).slice(0, 32), host, inputs: sorted, imports: [...imports] };
}

const loaders: Record<string, EsbuildLoader> = {
  ".mts": "ts",
  ".cts": "ts",
  ".mjs": "js",
  ".cjs": "js",
};

function readInputsOnce(dir: string, inputs: Map<string, Input>): Plugin {
  return {
    name: "reading-once",
    setup({ onLoad }) {
      onLoad({ filter: /.*/, namespace: "file" }, ({ path }) => {
        const { size, mtimeMs } = statSync(path);
        const contents = readFileSync(path);
        // A file written at this moment may change again under the same time stamp, so such a stamp is not trusted.
        const stamp = mtimeMs >= Date.now() - 20 ? -1 : mtimeMs;
        inputs.set(path, { path: relative(dir, path), size, mtimeMs: stamp, hash: sha(contents) });
        const text = withImportMeta(contents, relative(dir, path));
        return { contents: text, loader: loaders[extname(path)] ?? "default" };
      });
    },
  };
}

/** Reports relative imports, except those of packages: everything below a node_modules is protected anyway. */
function reportImports(onImport: (path: string) => void): Plugin {
  return {
    name: "reporting-imports",
    setup({ onResolve }) {
      onResolve({ filter: /^(\.{1,2}([\\/]|$)|[\\/])/ }, ({ path, resolveDir, kind }) => {
        const isPackage = /[\\/]node_modules[\\/]/.test(`${resolveDir}/`);
        if (kind !== "entry-point" && !isPackage) onImport(resolve(resolveDir, path));
        return undefined;
      });
    },
  };
}
