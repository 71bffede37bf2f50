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
const BUILT_IN = { hash: "built in", whole: true, bundle: { code: "", codeHash: "", host: [] } };

interface ReadOptions {
  /** Bundles all packages that the module needs. */
  whole?: boolean;
  /** Writes a question to the loop guard into each loop. */
  guarded?: boolean;
}

export class Loader {
  readonly #options: LoaderOptions;
  /** By entry: the files of each module of the user's, as they were last read. */
  readonly #evaluated = new Map<string, EvaluatedFiles>();

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  /** The files of the user's modules, as they were last read. */
  evaluated(): Iterable<EvaluatedFiles> {
    return this.#evaluated.values();
  }

  /** `limitMs` bounds the evaluation, and later each of the module's loops. */
  async load(entry: string, limitMs?: number): Promise<UserModule> {
    const guard = limitMs === undefined ? undefined : createLoopGuard(limitMs);
    return this.evaluate(await this.read(entry, { guarded: guard !== undefined }), guard);
  }

  /** Bundles without evaluating. Throws `LoadError`. */
  async read(entry: string, options: ReadOptions = {}): Promise<Source> {
    const { whole = false, guarded = false } = options;
    const refresh = () => this.read(entry, options);
    if (this.#options.builtIn?.(entry)) return { ...BUILT_IN, entry, inputs: [entry], refresh };
    const ending = `${whole ? ".whole" : ""}${guarded ? ".guarded" : ""}.cjs`;
    const file = this.#options.cacheFile(entry).replace(/\.cjs$/, ending);
    const bundle = await this.#bundle(file, entry, { whole, guarded });
    const inputs = inputsOf(bundle, entry);
    const hashes = bundle.inputs.map(({ path, hash }) => `${path} ${hash}`).join();
    return { entry, inputs, hash: sha(hashes).slice(0, 16), whole, bundle, refresh };
  }

  /** Records the files also where the bundle fails: an import without a file today must not find one of the agent's tomorrow. */
  async #bundle(file: string, entry: string, options: Required<ReadOptions>): Promise<Bundle> {
    const imports = new Set<string>();
    const record = (files: readonly string[]) =>
      this.#evaluated.set(entry, { files, imports: [...imports], packages: new Set() });
    const isOwn = this.#isOwn(entry);
    const onImport = (path: string) => imports.add(path);
    try {
      const bundle = await openBundle(file, entry, { ...options, isOwn, onImport });
      if (!isOwn) record(inputsOf(bundle, entry));
      return bundle;
    } catch (error) {
      record([entry, ...(this.#evaluated.get(entry)?.files ?? [])]);
      throw error;
    }
  }

  /** Runs the code that was read, and no other. A guard ends what would never end. Throws `LoadError`. */
  async evaluate(source: Source, guard?: LoopGuard): Promise<UserModule> {
    const { entry, bundle, inputs, hash } = source;
    const builtIn = this.#options.builtIn?.(entry);
    if (builtIn) return { exports: await builtIn(), inputs, hash };
    const module = {
      exports: {} as Record<string, unknown>,
      importMeta: importMetaBeside(entry),
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

  /** `require` as a module sees it: with the modules of the gateway, and without packages that others could replace. */
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
  #checkPackage(id: string, { entry, whole }: Source, require: NodeJS.Require): void {
    if (whole) throw new LoadError(`${id}: is not among the approved files`, entry);
    const file = require.resolve(id);
    this.#recordLinkedPackage(entry, file);
    // The owner of a directory on the way can replace its contents.
    const top = /^(.*[\\/]node_modules)[\\/]/s.exec(file)?.[1] ?? ".";
    const reason = whyNotOwn(pathsUpTo(file, top));
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

function inputsOf({ inputs }: Bundle, entry: string): string[] {
  return inputs.map(({ path }) => resolve(dirname(entry), path));
}

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
