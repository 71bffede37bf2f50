/**
 * Bundles a module with esbuild to CommonJS text, or takes the bundle that was kept. Every input is read once,
 * and what was read is what is hashed and what is bundled: a file that changes meanwhile changes nothing of this bundle.
 */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import type { Loader as EsbuildLoader, Plugin } from "esbuild";
import { filesBelow } from "../files/listing.ts";
import { sha } from "../files/sha.ts";
import { keep, readKept } from "./cache.ts";
import { asLoadError } from "./problem.ts";
import { mayLoop, tickName } from "./loop-guard.ts";
import { importMetaDefines, withImportMeta } from "./import-meta.ts";

interface Input {
  /** Relative to the entry's directory: bundle and entry may move together. */
  path: string;
  size: number;
  mtimeMs: number;
  hash: string;
}

export interface Bundle {
  /** A function expression, as Node wraps CommonJS. On its first line, so that line numbers stay. */
  code: string;
  codeHash: string;
  /** What it imports from the gateway itself. */
  host: string[];
  inputs: Input[];
  /** Where its relative imports point, as they are written: relative to the entry's directory. */
  imports: string[];
}

export interface BundleOptions {
  /**
   * The package's own: without source maps, which cost time at load; and size and time of change stand for the contents.
   * The contents of all other files are read, because anyone who replaces a file can give it any modification time.
   */
  isOwn: boolean;
  /** Packages become part of the bundle; else they are required when it runs. */
  whole: boolean;
  /** Its loops ask the loop guard. */
  guarded: boolean;
  /** Called with the absolute path of each relative import, also where it resolves to nothing. */
  onImport(path: string): void;
}

let esbuild: typeof import("esbuild") | undefined; // loaded for the first that is not kept

/** Raised when the form of kept bundles changes. */
const cacheVersion = 14;

/** The one that is kept in the file, while its inputs are what they were; else one that is built and kept. Throws `LoadError`. */
export async function openBundle(
  file: string,
  entry: string,
  options: BundleOptions,
): Promise<Bundle> {
  const cached = readKept<{ version: number; layout: string } & Omit<Bundle, "code">>(file);
  const layout = options.isOwn ? "" : layoutOf(dirname(entry));
  if (cached?.head.version === cacheVersion && cached.head.layout === layout) {
    const { inputs, codeHash, host, imports } = cached.head;
    const isIntact = () => options.isOwn || sha(cached.body).slice(0, 32) === codeHash;
    if (inputs.every((input) => isUnchanged(input, dirname(entry), options.isOwn)) && isIntact()) {
      for (const path of imports) options.onImport(resolve(dirname(entry), path));
      return { code: cached.body.toString(), codeHash, host, inputs, imports };
    }
  }
  const { code, ...head } = await build(entry, options);
  keep(file, { version: cacheVersion, layout, ...head }, code);
  return { code, ...head };
}

/** Names, and where links lead: what imports find depends on these too. */
function layoutOf(dir: string): string {
  const files = filesBelow(dir, "node_modules", ".git");
  return sha(
    files
      .map(({ path, entry }) => (entry.isSymbolicLink() ? readlinkSync(join(dir, path)) : path))
      .join("\n"),
  );
}

function isUnchanged(input: Input, dir: string, byStamp: boolean): boolean {
  const file = resolve(dir, input.path);
  const now = statSync(file, { throwIfNoEntry: false });
  if (!now || now.size !== input.size) return false;
  return (byStamp && now.mtimeMs === input.mtimeMs) || sha(readFileSync(file)) === input.hash;
}

async function build(entry: string, options: BundleOptions): Promise<Bundle> {
  const { isOwn, whole, guarded } = options;
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
      entryPoints: [`./${basename(entry)}`], // the whole path would be a pattern, where it holds a *
      absWorkingDir: dir,
      bundle: true,
      write: false,
      format: "cjs",
      platform: "node",
      target: "node20",
      packages: whole ? "bundle" : "external",
      external: ["portico", "portico/*"],
      // No tsconfig.json is read: its `paths` and `jsxFactory` would let its author choose what runs.
      tsconfigRaw: "{}",
      plugins: [readingOnce(dir, inputs), ...(isOwn ? [] : [reportingImports(onImport)])],
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
  const imported = Object.values(result.metafile.outputs).flatMap((output) =>
    output.imports.map(({ path }) => path),
  );
  const host = [...new Set(imported.filter((path) => /^portico(\/|$)/.test(path)))];
  const sorted = [...inputs.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { code, codeHash: sha(code).slice(0, 32), host, inputs: sorted, imports: [...imports] };
}

const loaders: Record<string, EsbuildLoader> = {
  ".mts": "ts",
  ".cts": "ts",
  ".mjs": "js",
  ".cjs": "js",
};

function readingOnce(dir: string, inputs: Map<string, Input>): Plugin {
  return {
    name: "reading-once",
    setup({ onLoad }) {
      onLoad({ filter: /.*/, namespace: "file" }, ({ path }) => {
        const { size, mtimeMs } = statSync(path);
        const contents = readFileSync(path);
        // A file written at this moment may get other contents under the same stamp: such a stamp is never taken.
        const stamp = mtimeMs >= Date.now() - 20 ? -1 : mtimeMs;
        inputs.set(path, { path: relative(dir, path), size, mtimeMs: stamp, hash: sha(contents) });
        const text = withImportMeta(contents, relative(dir, path));
        return { contents: text, loader: loaders[extname(path)] ?? "default" };
      });
    },
  };
}

/** Packages are left out: everything below a node_modules is protected as it is. */
function reportingImports(onImport: (path: string) => void): Plugin {
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
