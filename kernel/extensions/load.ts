/**
 * Loads a plugin or a hook from TypeScript: bundled by esbuild to CommonJS text and evaluated, so that an old version
 * is collected like any object (Node never frees an ES module). Bundles are cached on disk: an unchanged extension
 * is loaded again without esbuild.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "esbuild";
import { writeWhole } from "../files/write-whole.ts";
import { compileScript } from "./code-cache.ts";
import { type Evaluate, evaluateBundle, wrapBundle } from "./evaluate.ts";

export interface LoadedModule {
  exports: Record<string, unknown>;
  /** Every file that went into it, absolute, the entry among them. */
  inputs: readonly string[];
  /** Changes when the content of any input does. */
  hash: string;
}

/** A file that does not load, with the place where that is known. */
export class LoadError extends Error {
  override name = "LoadError";
  constructor(
    message: string,
    readonly file?: string,
    readonly line?: number,
    readonly column?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface LoaderOptions {
  /** What extensions import from the gateway itself: `portico`, and the faces of its plugins (`portico/<plugin>`). */
  host(id: string): Promise<unknown>;
  /** Where the bundle of this entry is kept. Bundles name their inputs relative to the entry, so both may move together. */
  cacheFile(entry: string): string;
  /** Packages that are bundled into the extension instead of being required when it runs. */
  bundled?(entry: string): readonly string[];
  /** Maps stack traces back to the source; costs time at load. */
  sourceMaps(entry: string): boolean;
}

interface Bundle {
  code: string;
  codeHash: string;
  /** What it imports from the gateway itself. */
  host: string[];
  inputs: { path: string; size: number; mtimeMs: number; hash: string }[];
}

/** Raised when the form of cached bundles changes. */
const cacheVersion = 6;

interface Compiled {
  code: string;
  codeHash: string;
  host: string[];
  inputs: string[];
  /** Of the inputs. */
  hash: string;
}

export function createLoader(options: LoaderOptions) {
  /** Builds (or takes from the cache) without evaluating. */
  async function compile(entry: string): Promise<Compiled> {
    const cacheFile = options.cacheFile(entry);
    let bundle = readCached(cacheFile, entry);
    if (!bundle) {
      bundle = await build(entry, options.sourceMaps(entry), options.bundled?.(entry) ?? []);
      writeCached(cacheFile, bundle);
    }
    return {
      code: bundle.code,
      codeHash: bundle.codeHash,
      host: bundle.host,
      inputs: bundle.inputs.map((input) => resolve(dirname(entry), input.path)),
      hash: sha(bundle.inputs.map((input) => input.hash).join()).slice(0, 16),
    };
  }

  /** The engine finds the source maps of what it evaluates, not of scripts: only what has none is kept compiled. */
  function scriptOf({ code, codeHash }: Compiled, entry: string) {
    const cache = { file: options.cacheFile(entry).replace(/\.cjs$/, ".v8"), hash: codeHash };
    return compileScript(wrapBundle(code, entry), pathToFileURL(entry).href, cache);
  }

  /** Builds what `load` takes from the caches. */
  async function prepare(entry: string): Promise<void> {
    const compiled = await compile(entry);
    if (!options.sourceMaps(entry)) scriptOf(compiled, entry);
  }

  /** Compiles and evaluates. `evaluate` lets hooks guard the evaluation (an endless loop). */
  async function load(entry: string, guarded?: Evaluate): Promise<LoadedModule> {
    const compiled = await compile(entry);
    const evaluateScript: Evaluate = () => scriptOf(compiled, entry).runInThisContext();
    const evaluate = guarded ?? (options.sourceMaps(entry) ? evaluateBundle : evaluateScript);
    const require = createRequire(entry);
    const module = { exports: {} as Record<string, unknown>, url: pathToFileURL(entry).href };
    const host = new Map(await Promise.all(compiled.host.map(async (id) => [id, await options.host(id)] as const)));
    const hostRequire = (id: string) => (host.has(id) ? host.get(id) : require(id));
    try {
      evaluate(compiled.code, entry)(
        module.exports,
        Object.assign(hostRequire, require),
        module,
        entry,
        dirname(entry),
      );
    } catch (thrown) {
      throw asLoadError(thrown, entry);
    }
    return { exports: module.exports, inputs: compiled.inputs, hash: compiled.hash };
  }

  return { compile, prepare, load };
}
export type Loader = ReturnType<typeof createLoader>;

/** A file that is saved while esbuild reads would pair old code with a new hash: then it is built once more. */
async function build(entry: string, sourceMaps: boolean, bundled: readonly string[]): Promise<Bundle> {
  for (let tries = 0; ; tries++) {
    const before = Date.now();
    const bundle = await buildOnce(entry, sourceMaps, bundled);
    const isSettled = bundle.inputs.every(({ path }) => statSync(resolve(dirname(entry), path)).mtimeMs < before);
    if (isSettled || tries === 3) return bundle;
  }
}

async function buildOnce(entry: string, sourceMaps: boolean, bundled: readonly string[]): Promise<Bundle> {
  const esbuild = await import("esbuild");
  const before = Date.now();
  const result = await esbuild
    .build({
      entryPoints: [entry],
      absWorkingDir: dirname(entry),
      bundle: true,
      write: false,
      format: "cjs",
      platform: "node",
      target: "node20",
      packages: bundled.length ? "bundle" : "external",
      external: ["portico", "portico/*"],
      plugins: bundled.length ? [onlyBundling(bundled)] : [],
      metafile: true,
      sourcemap: sourceMaps ? "inline" : false,
      sourcesContent: false,
      logLevel: "silent",
      logOverride: { "empty-import-meta": "silent" },
      supported: { "dynamic-import": false },
      define: {
        "import.meta.url": "module.url",
        "import.meta.dirname": "__dirname",
        "import.meta.filename": "__filename",
      },
    })
    .catch((failure: unknown) => {
      throw asLoadError(failure, entry);
    });
  // Packages change with an installation, which builds anew.
  const sources = Object.keys(result.metafile.inputs).filter((input) => !input.includes("node_modules/"));
  const inputs = sources.map((input) => {
    const file = resolve(dirname(entry), input);
    const { size, mtimeMs } = statSync(file);
    // A file written while it was being read may be newer than what was bundled: never take its stamp from the cache.
    return { path: input, size, mtimeMs: mtimeMs >= before - 5 ? -1 : mtimeMs, hash: sha(readFileSync(file)) };
  });
  const code = result.outputFiles[0]?.text ?? "";
  const imported = Object.values(result.metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  const host = [...new Set(imported.filter((path) => /^portico(\/|$)/.test(path)))];
  return { code, codeHash: sha(code).slice(0, 32), host, inputs };
}

/** Bundles these packages and what they need; all others are required when the extension runs. */
function onlyBundling(packages: readonly string[]): Plugin {
  const isPackage = (id: string) => packages.some((name) => id === name || id.startsWith(`${name}/`));
  return {
    name: "only-bundling",
    setup(builder) {
      builder.onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
        if (kind === "entry-point" || isPackage(path) || importer.includes("/node_modules/")) return undefined;
        return { path, external: true };
      });
    },
  };
}

function readCached(file: string, entry: string): Bundle | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  const lineEnd = text.indexOf("\n");
  try {
    const head = JSON.parse(text.slice(2, lineEnd)) as { version: number } & Omit<Bundle, "code">;
    const { version, inputs, codeHash, host } = head;
    if (version !== cacheVersion || !inputs.every((input) => isUnchanged(input, dirname(entry)))) return undefined;
    return { code: text.slice(lineEnd + 1), codeHash, host, inputs };
  } catch {
    return undefined; // torn or of another version: built anew
  }
}

function isUnchanged(input: Bundle["inputs"][number], dir: string): boolean {
  const file = resolve(dir, input.path);
  const now = statSync(file, { throwIfNoEntry: false });
  if (!now || now.size !== input.size) return false;
  return now.mtimeMs === input.mtimeMs || sha(readFileSync(file)) === input.hash;
}

function writeCached(file: string, bundle: Bundle): void {
  try {
    const { code, ...head } = bundle;
    // Those of a package that one user has installed are read by others.
    writeWhole(file, `//${JSON.stringify({ version: cacheVersion, ...head })}\n${code}`, 0o644);
  } catch {
    // A read-only installation runs without the cache.
  }
}

/** esbuild's messages and thrown errors, as one line that begins with `file:line:column`. */
function asLoadError(thrown: unknown, entry: string): LoadError {
  if (thrown instanceof LoadError) return thrown;
  const first = (thrown as { errors?: { text: string; location?: Location | null }[] })?.errors?.[0];
  if (first) {
    const { text, location } = first;
    const hint = /Top-level await/.test(text) ? "top-level await is not supported here: move it into a function" : text;
    if (!location) return new LoadError(hint, entry, undefined, undefined, { cause: thrown });
    const file = resolve(dirname(entry), location.file);
    const at = `${relative(dirname(entry), file)}:${location.line}:${location.column + 1}`;
    return new LoadError(`${at}: ${hint}`, file, location.line, location.column + 1, { cause: thrown });
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const place = placeOf(error, dirname(entry));
  const at = place ? `${relative(dirname(entry), place.file)}:${place.line}:${place.column}: ` : "";
  return new LoadError(`${at}${error.message}`, place?.file ?? entry, place?.line, place?.column, { cause: error });
}
interface Location {
  file: string;
  line: number;
  column: number;
}

/** The first frame of an error's stack that lies below a directory. */
export function placeOf(error: Error, dir: string): Location | undefined {
  for (const line of (error.stack ?? "").split("\n")) {
    const match = /(?:file:\/\/)?(\/[^():]+):(\d+):(\d+)\)?$/.exec(line);
    const file = match?.[1] && decodeURI(match[1]);
    if (match && file?.startsWith(`${dir}/`)) {
      return { file, line: Number(match[2]), column: Number(match[3]) };
    }
  }
  return undefined;
}

function sha(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
