/**
 * Loads a module: bundles it to CommonJS text and evaluates it, so that an old version is garbage-collected (Node never
 * frees an ES module). Bundling and evaluating are two steps, so that a bundle can be checked in between.
 */
import { existsSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { UserModule } from "../contract/modules.ts";
import { isInside, listPathsUpTo, findOwnershipProblem } from "../files/own.ts";
import { sha } from "../files/sha.ts";
import { backstopMs, runBounded } from "./bounded.ts";
import { type Bundle, openBundle } from "./bundle.ts";
import { asLoadError, LoadError } from "./problem.ts";
import { importMetaFor } from "./import-meta.ts";
import { createLoopGuard, type LoopGuard } from "./loop-guard.ts";

/** The code of a module at one moment, which `evaluate` runs even if the files have changed since. */
export interface Source {
  entry: string;
  /** The absolute paths of all files in it, including the entry. */
  inputs: readonly string[];
  /** A hash of the content of all inputs. */
  hash: string;
  /** True if it includes all its dependencies, so that nothing is required from the disk at run time. */
  includesPackages: boolean;
  bundle: Pick<Bundle, "code" | "codeHash" | "host">;
  /** Reads the current files, which makes the next read fast. Throws `LoadError`. */
  refresh(): Promise<Source>;
}

/** The files that determine which code a user's module runs; all paths are absolute. */
export interface EvaluatedFiles {
  /** The files in its bundle. */
  files: readonly string[];
  /** The targets of its relative imports as written, whether or not they exist. */
  imports: readonly string[];
  /** The directories of packages that it requires at run time and that are outside any node_modules. */
  packages: Set<string>;
}

export interface LoaderOptions {
  /** Returns a module that is part of the program. It is not bundled, and is evaluated once. */
  builtIn?(entry: string): (() => Promise<UserModule["exports"]>) | undefined;
  /**
   * Returns a module that modules import from the gateway itself: `portico`, or the face of a plugin
   * (`portico/<plugin>`).
   */
  host(id: string): Promise<unknown>;
  /** Returns the path of the cached bundle of an entry. */
  cacheFile(entry: string): string;
  /**
   * Whether an entry belongs to the package, when it runs from its sources: there are no source maps, and time stamps
   * are trusted.
   */
  isOwn?(entry: string): boolean;
}

/** The source of a built-in module, which needs no bundle. */
const BUILT_IN = {
  hash: "built in",
  includesPackages: true,
  bundle: { code: "", codeHash: "", host: [] },
};

interface ReadOptions {
  /** Bundles all packages that the module needs. */
  includesPackages?: boolean;
  /** Inserts a call of the loop guard into each loop. */
  guarded?: boolean;
}

export class Loader {
  readonly #options: LoaderOptions;
  /** The files of each user's module as they were last read, by entry. */
  readonly #evaluated = new Map<string, EvaluatedFiles>();

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  /** Returns the files of the users' modules, as they were last read. */
  evaluated(): Iterable<EvaluatedFiles> {
    return this.#evaluated.values();
  }

  /** Reads and evaluates a module. `limitMs` limits the evaluation, and later each of the module's loops. */
  async load(entry: string, limitMs?: number): Promise<UserModule> {
    const guard = limitMs === undefined ? undefined : createLoopGuard(limitMs);
    return this.evaluate(await this.read(entry, { guarded: guard !== undefined }), guard);
  }

  /** Bundles a module without evaluating it. Throws `LoadError`. */
  async read(entry: string, options: ReadOptions = {}): Promise<Source> {
    const { includesPackages = false, guarded = false } = options;
    const refresh = () => this.read(entry, options);
    if (this.#options.builtIn?.(entry)) return { ...BUILT_IN, entry, inputs: [entry], refresh };
    const suffix = `${includesPackages ? ".whole" : ""}${guarded ? ".guarded" : ""}.cjs`;
    const file = this.#options.cacheFile(entry).replace(/\.cjs$/, suffix);
    const bundle = await this.#bundle(file, entry, { includesPackages, guarded });
    const inputs = listInputs(bundle, entry);
    const hashes = bundle.inputs.map(({ path, hash }) => `${path} ${hash}`).join();
    return { entry, inputs, hash: sha(hashes).slice(0, 16), includesPackages, bundle, refresh };
  }

  /**
   * Records the files even if bundling fails: the agent must not be able to create the file of an unresolved import
   * later.
   */
  async #bundle(file: string, entry: string, options: Required<ReadOptions>): Promise<Bundle> {
    const imports = new Set<string>();
    const record = (files: readonly string[]) =>
      this.#evaluated.set(entry, { files, imports: [...imports], packages: new Set() });
    const isOwn = this.#isOwn(entry);
    const onImport = (path: string) => imports.add(path);
    try {
      const bundle = await openBundle(file, entry, { ...options, isOwn, onImport });
      if (!isOwn) record(listInputs(bundle, entry));
      return bundle;
    } catch (error) {
      record([entry, ...(this.#evaluated.get(entry)?.files ?? [])]);
      throw error;
    }
  }

  /** Evaluates exactly the code that was read. A guard ends endless loops. Throws `LoadError`. */
  async evaluate(source: Source, guard?: LoopGuard): Promise<UserModule> {
    const { entry, bundle, inputs, hash } = source;
    const builtIn = this.#options.builtIn?.(entry);
    if (builtIn) return { exports: await builtIn(), inputs, hash };
    const module = {
      exports: {} as Record<string, unknown>,
      importMeta: importMetaFor(entry),
    };
    const require = await this.#requireFor(source);
    const args = [module.exports, require, module, entry, dirname(entry), guard?.tick];
    try {
      const run = evaluateText(bundle.code, entry);
      if (guard) runBounded(() => run(...args), guard.limitMs + backstopMs);
      else run(...args);
    } catch (thrown) {
      throw asLoadError(thrown, entry);
    }
    return { exports: module.exports, inputs, hash };
  }

  /**
   * Creates the `require` of a module: with the modules of the gateway, and without packages that others could replace.
   */
  async #requireFor(source: Source): Promise<NodeJS.Require> {
    const { entry, bundle } = source;
    const require = createRequire(entry);
    const load = async (id: string) => [id, await this.#options.host(id)] as const;
    const host = new Map(await Promise.all(bundle.host.map(load)));
    const hostRequire = (id: string) => {
      if (host.has(id)) return host.get(id);
      if (!isBuiltin(id) && !this.#isOwn(entry)) this.#checkPackage(id, source, require);
      return require(id);
    };
    return Object.assign(hostRequire, require);
  }

  /** Throws for a package that was not approved, or that another user could replace. */
  #checkPackage(id: string, { entry, includesPackages }: Source, require: NodeJS.Require): void {
    if (includesPackages) throw new LoadError(`${id} is not among the approved files`, entry);
    const file = require.resolve(id);
    this.#recordLinkedPackage(entry, file);
    // The owner of a directory on the way can replace its contents.
    const top = /^(.*[\\/]node_modules)[\\/]/s.exec(file)?.[1] ?? ".";
    const reason = findOwnershipProblem(listPathsUpTo(file, top));
    if (reason) throw new LoadError(`${id}: ${reason}`, entry);
  }

  /** A package may be a link to a directory that nothing else protects. */
  #recordLinkedPackage(entry: string, file: string): void {
    if (/[\\/]node_modules[\\/]/.test(file)) return;
    const directory = packageDirectory(file);
    if (isInside(entry, directory))
      throw new LoadError("a package cannot import itself by its name: use a relative path", entry);
    this.#evaluated.get(entry)?.packages.add(directory);
  }

  #isOwn(entry: string): boolean {
    return this.#options.isOwn?.(entry) ?? false;
  }
}

function listInputs({ inputs }: Bundle, entry: string): string[] {
  return inputs.map(({ path }) => resolve(dirname(entry), path));
}

/** Returns the nearest directory above a file that has a package.json; the file's own directory if there is none. */
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
