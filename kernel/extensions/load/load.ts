/**
 * Loads a plugin or a hook: bundled to CommonJS text and evaluated, so that an old version is collected like any object
 * (Node never frees an ES module). Bundling and evaluating are two steps, so that a bundle can be judged in between.
 */
import { createRequire, isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Bundle, buildBundle, sha } from "./bundle.ts";
import { readCached, writeCached } from "./bundle-cache.ts";
import { compileScript } from "./code-cache.ts";
import { type Evaluate, evaluateBundle, wrapBundle } from "./evaluate.ts";
import { whyPackageUnsafe } from "../safety.ts";
import { asLoadError, LoadError } from "./load-error.ts";

/** The code of an extension as it was at one moment: what `evaluate` runs, whatever has become of the files. */
export interface Source {
  entry: string;
  /** Every file that went into it, absolute, the entry among them. */
  inputs: readonly string[];
  /** Changes when the content of any input does. */
  hash: string;
  /** It has all that it needs within itself: nothing is required from the disk when it runs. */
  whole: boolean;
  bundle: Pick<Bundle, "code" | "codeHash" | "host">;
}

export interface LoadedModule extends Pick<Source, "inputs" | "hash"> {
  exports: Record<string, unknown>;
}

export interface LoaderOptions {
  /** What extensions import from the gateway itself: `portico`, and the faces of its plugins (`portico/<plugin>`). */
  host(id: string): Promise<unknown>;
  /** Where the bundle of this entry is kept. */
  cacheFile(entry: string): string;
  /** The package's own: no source maps, stamps are trusted, and these packages are part of the bundle. */
  own?(entry: string): { packages: readonly string[] } | undefined;
}

export function createLoader(options: LoaderOptions) {
  const ownOf = (entry: string) => options.own?.(entry);

  /** Bundles without evaluating. `whole`: with all packages that it needs. Throws `LoadError`. */
  async function read(entry: string, { whole = false } = {}): Promise<Source> {
    const own = ownOf(entry);
    const cacheFile = whole ? options.cacheFile(entry).replace(/\.cjs$/, ".whole.cjs") : options.cacheFile(entry);
    let bundle = readCached(cacheFile, entry, own !== undefined);
    if (!bundle) {
      bundle = await buildBundle(entry, { sourceMaps: !own, packages: whole ? "all" : (own?.packages ?? []) });
      writeCached(cacheFile, bundle);
    }
    const inputs = bundle.inputs.map((input) => resolve(dirname(entry), input.path));
    const hash = sha(bundle.inputs.map((input) => `${input.path} ${input.hash}`).join()).slice(0, 16);
    return { entry, inputs, hash, whole, bundle };
  }

  /** The engine finds the source maps of what it evaluates, not of scripts: only what has none is kept compiled. */
  function scriptOf({ entry, bundle }: Source) {
    const cache = { file: options.cacheFile(entry).replace(/\.cjs$/, ".v8"), hash: bundle.codeHash };
    return compileScript(wrapBundle(bundle.code, entry), pathToFileURL(entry).href, cache);
  }

  /** Runs the code that was read, and no other. `guarded` lets the caller guard the evaluation (an endless loop). */
  async function evaluate(source: Source, guarded?: Evaluate): Promise<LoadedModule> {
    const { entry, bundle } = source;
    const compiled: Evaluate = () => scriptOf(source).runInThisContext();
    const run = guarded ?? (ownOf(entry) ? compiled : evaluateBundle);
    const require = createRequire(entry);
    const module = { exports: {} as Record<string, unknown>, url: pathToFileURL(entry).href };
    const host = new Map(await Promise.all(bundle.host.map(async (id) => [id, await options.host(id)] as const)));
    const hostRequire = (id: string) => {
      if (host.has(id)) return host.get(id);
      if (!isBuiltin(id) && !ownOf(entry)) {
        const why = source.whole ? "is not part of what was approved" : whyPackageUnsafe(require.resolve(id));
        if (why) throw new LoadError(`${id}: ${why}`, entry);
      }
      return require(id);
    };
    try {
      run(bundle.code, entry)(module.exports, Object.assign(hostRequire, require), module, entry, dirname(entry));
    } catch (thrown) {
      throw asLoadError(thrown, entry);
    }
    return { exports: module.exports, inputs: source.inputs, hash: source.hash };
  }

  return {
    read,
    evaluate,
    load: async (entry: string, guarded?: Evaluate): Promise<LoadedModule> => evaluate(await read(entry), guarded),
    /** Builds what a start takes from the caches. */
    async prepare(entry: string): Promise<void> {
      const source = await read(entry);
      if (ownOf(entry)) scriptOf(source);
    },
  };
}
export type Loader = ReturnType<typeof createLoader>;
