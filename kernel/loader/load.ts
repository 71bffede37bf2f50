/**
 * Loads a module: bundled to CommonJS text and evaluated, so that an old version is collected like any object
 * (Node never frees an ES module). Bundling and evaluating are two steps, so that a bundle can be judged in between.
 */
import { existsSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { UserModule } from "../contract/modules.ts";
import { isInside, pathsUpTo, whyNotOwn } from "../files/own.ts";
import { sha } from "../files/sha.ts";
import { backstopMs, runBounded } from "./bounded.ts";
import { type Bundle, openBundle } from "./bundle.ts";
import { asLoadError, LoadError } from "./problem.ts";
import { importMetaBeside } from "./import-meta.ts";
import { createLoopGuard, type LoopGuard } from "./loop-guard.ts";

/** The code of a module as it was at one moment: what `evaluate` runs, whatever has become of the files. */
export interface Source {
  entry: string;
  /** Every file that went into it, absolute, the entry among them. */
  inputs: readonly string[];
  /** Changes when the content of any input does. */
  hash: string;
  /** It has all that it needs within itself: nothing is required from the disk when it runs. */
  whole: boolean;
  bundle: Pick<Bundle, "code" | "codeHash" | "host">;
  /** Reads it as it is now, which leaves little to do for who reads it next. Throws `LoadError`. */
  refresh(): Promise<Source>;
}

/** The files that decide what one module of the user's runs; all paths are absolute. */
export interface EvaluatedFiles {
  /** What went into it. */
  files: readonly string[];
  /** Where its relative imports point as they are written, whether or not something is there. */
  imports: readonly string[];
  /** Directories of packages that it requires when it runs, and that lie outside any node_modules. */
  packages: Set<string>;
}

export interface LoaderOptions {
  /** A module that is part of the program: it is not bundled, and evaluated once. */
  builtIn?(entry: string): (() => Promise<UserModule["exports"]>) | undefined;
  /** What modules import from the gateway itself: `portico`, and the faces of its plugins (`portico/<plugin>`). */
  host(id: string): Promise<unknown>;
  /** Where the bundle of this entry is kept. */
  cacheFile(entry: string): string;
  /** The package's own, where it runs from its sources: there are no source maps, and stamps are trusted. */
  isOwn?(entry: string): boolean;
}

/** There is nothing to bundle. */
const builtIn = { hash: "built in", whole: true, bundle: { code: "", codeHash: "", host: [] } };

export function createLoader(options: LoaderOptions) {
  const isOwn = (entry: string) => options.isOwn?.(entry) ?? false;
  const evaluated = new Map<string, EvaluatedFiles>();

  /**
   * Bundles without evaluating. `whole`: with all packages that it needs; `guarded`: with loops that ask the guard.
   * Throws `LoadError`.
   */
  async function read(entry: string, { whole = false, guarded = false } = {}): Promise<Source> {
    const refresh = () => read(entry, { whole, guarded });
    if (options.builtIn?.(entry)) return { ...builtIn, entry, inputs: [entry], refresh };
    const ending = `${whole ? ".whole" : ""}${guarded ? ".guarded" : ""}.cjs`;
    const file = options.cacheFile(entry).replace(/\.cjs$/, ending);
    const imports = new Set<string>();
    const onImport = (path: string) => imports.add(path);
    const bundleOptions = { isOwn: isOwn(entry), whole, guarded, onImport };
    const opening = openBundle(file, entry, bundleOptions);
    // Also of one that does not build: an import that finds nothing today must find nothing of the agent's tomorrow.
    const record = (files: readonly string[]) =>
      evaluated.set(entry, { files, imports: [...imports], packages: new Set() });
    const bundle = await opening.catch((error: unknown) => {
      record([entry, ...(evaluated.get(entry)?.files ?? [])]);
      throw error;
    });
    const inputs = bundle.inputs.map((input) => resolve(dirname(entry), input.path));
    if (!isOwn(entry)) record(inputs);
    const hash = sha(bundle.inputs.map((input) => `${input.path} ${input.hash}`).join()).slice(
      0,
      16,
    );
    return { entry, inputs, hash, whole, bundle, refresh };
  }

  /** Runs the code that was read, and no other. With a guard, it ends what never would. Throws `LoadError`. */
  async function evaluate(source: Source, guard?: LoopGuard): Promise<UserModule> {
    const { entry, bundle, inputs, hash } = source;
    const built = options.builtIn?.(entry);
    if (built) return { exports: await built(), inputs, hash };
    const require = createRequire(entry);
    const module = {
      exports: {} as Record<string, unknown>,
      importMeta: importMetaBeside(entry),
    };
    const host = new Map(
      await Promise.all(bundle.host.map(async (id) => [id, await options.host(id)] as const)),
    );
    const hostRequire = (id: string) => {
      if (host.has(id)) return host.get(id);
      if (!isBuiltin(id) && !isOwn(entry)) {
        const file = source.whole ? undefined : require.resolve(id);
        if (file !== undefined) recordLinkedPackage(entry, file);
        // who owns a directory on the way can exchange what lies in it
        const top = /^(.*[\\/]node_modules)[\\/]/s.exec(file ?? "")?.[1] ?? ".";
        const why = file ? whyNotOwn(pathsUpTo(file, top)) : "is not part of what was approved";
        if (why) throw new LoadError(`${id}: ${why}`, entry);
      }
      return require(id);
    };
    const args = [
      module.exports,
      Object.assign(hostRequire, require),
      module,
      entry,
      dirname(entry),
      guard?.tick,
    ];
    try {
      const run = evaluateText(bundle.code, entry);
      if (guard) runBounded(() => run(...args), guard.limitMs + backstopMs);
      else run(...args);
    } catch (thrown) {
      throw asLoadError(thrown, entry);
    }
    return { exports: module.exports, inputs, hash };
  }

  /** A package may be a link to a directory that nothing else protects. */
  function recordLinkedPackage(entry: string, file: string): void {
    if (/[\\/]node_modules[\\/]/.test(file)) return;
    const directory = packageDirectory(file);
    if (isInside(entry, directory))
      throw new LoadError("a package cannot import itself by its name: use a relative path", entry);
    evaluated.get(entry)?.packages.add(directory);
  }

  return {
    read,
    evaluate,
    /** What the user's modules consist of, as it was last read. */
    evaluated: (): Iterable<EvaluatedFiles> => evaluated.values(),
    /** `limitMs` bounds the evaluation, and later each of the module's loops. */
    async load(entry: string, limitMs?: number): Promise<UserModule> {
      const guard = limitMs === undefined ? undefined : createLoopGuard(limitMs);
      return evaluate(await read(entry, { guarded: guard !== undefined }), guard);
    },
  };
}
export type Loader = ReturnType<typeof createLoader>;

/** The nearest directory above a file that has a package.json; the file's own where there is none. */
function packageDirectory(file: string): string {
  let directory = dirname(file);
  while (!existsSync(join(directory, "package.json"))) {
    if (dirname(directory) === directory) return dirname(file);
    directory = dirname(directory);
  }
  return directory;
}

function evaluateText(code: string, entry: string) {
  // biome-ignore lint/security/noGlobalEval: this is how modules are loaded
  // biome-ignore lint/complexity/noCommaOperator: indirect eval runs in the global scope
  return (0, eval)(`${code}\n//# sourceURL=${pathToFileURL(entry).href}`) as (
    ...args: unknown[]
  ) => void;
}
