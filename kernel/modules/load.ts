/**
 * Loads a module: bundled to CommonJS text and evaluated, so that an old version is collected like any object
 * (Node never frees an ES module). Bundling and evaluating are two steps, so that a bundle can be judged in between.
 */
import { createRequire, isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";
import { whyNotOwn } from "../files/own.ts";
import { backstopMs, runBounded } from "./bounded.ts";
import { type Bundle, openBundle, sha } from "./bundle.ts";
import { keep, readKept } from "./cache.ts";
import { asLoadError, LoadError } from "./problem.ts";
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
}

/** One that was evaluated. `inputs`: every file that went into it, absolute, the entry among them. */
export interface UserModule extends Pick<Source, "inputs" | "hash"> {
  exports: Record<string, unknown>;
}

export interface LoaderOptions {
  /** What modules import from the gateway itself: `portico`, and the faces of its plugins (`portico/<plugin>`). */
  host(id: string): Promise<unknown>;
  /** Where the bundle of this entry is kept. */
  cacheFile(entry: string): string;
  /** The package's own: no source maps, stamps are trusted, and these packages are part of the bundle. */
  own?(entry: string): { packages: readonly string[] } | undefined;
}

type Wrapped = (...args: unknown[]) => void;

export function createLoader(options: LoaderOptions) {
  const ownOf = (entry: string) => options.own?.(entry);
  const fileFor = (entry: string, ending: string) => options.cacheFile(entry).replace(/\.cjs$/, ending);

  /**
   * Bundles without evaluating. `whole`: with all packages that it needs; `guarded`: with loops that ask the guard.
   * Throws `LoadError`.
   */
  async function read(entry: string, { whole = false, guarded = false } = {}): Promise<Source> {
    const own = ownOf(entry);
    const file = fileFor(entry, `${whole ? ".whole" : ""}${guarded ? ".guarded" : ""}.cjs`);
    const packages = whole ? "all" : (own?.packages ?? []);
    const bundle = await openBundle(file, entry, { isOwn: own !== undefined, packages, guarded });
    const inputs = bundle.inputs.map((input) => resolve(dirname(entry), input.path));
    const hash = sha(bundle.inputs.map((input) => `${input.path} ${input.hash}`).join()).slice(0, 16);
    return { entry, inputs, hash, whole, bundle };
  }

  /**
   * With what the engine made of it, which is kept beside the bundle: a start need not parse some two megabytes, most of
   * which never runs. The engine keeps the text that it is given: this very one, and no copy. It finds the source maps of
   * what it evaluates, not of scripts: only what has none is kept.
   */
  function scriptOf(source: Source): Script {
    const { entry, bundle } = source;
    // Good for one version of the engine and its settings, which differ between a start and a test.
    const file = fileFor(entry, `.${cachedDataVersionTag().toString(36)}.v8`);
    const kept = readKept<{ hash: string }>(file);
    // The engine itself compares nothing but lengths.
    const cachedData = kept?.head.hash === bundle.codeHash ? kept.body : undefined;
    const script = new Script(bundle.code, { filename: pathToFileURL(entry).href, cachedData });
    if (!cachedData || script.cachedDataRejected) keep(file, { hash: bundle.codeHash }, script.createCachedData());
    return script;
  }

  /** Runs the code that was read, and no other. With a guard, it ends what never would. Throws `LoadError`. */
  async function evaluate(source: Source, guard?: LoopGuard): Promise<UserModule> {
    const { entry, bundle, inputs, hash } = source;
    const require = createRequire(entry);
    const module = { exports: {} as Record<string, unknown>, url: pathToFileURL(entry).href };
    const host = new Map(await Promise.all(bundle.host.map(async (id) => [id, await options.host(id)] as const)));
    const hostRequire = (id: string) => {
      if (host.has(id)) return host.get(id);
      if (!isBuiltin(id) && !ownOf(entry)) {
        const why = source.whole ? "is not part of what was approved" : whyForeign(require.resolve(id));
        if (why) throw new LoadError(`${id}: ${why}`, entry);
      }
      return require(id);
    };
    const args = [module.exports, Object.assign(hostRequire, require), module, entry, dirname(entry), guard?.tick];
    try {
      const run: Wrapped = ownOf(entry) ? scriptOf(source).runInThisContext() : evaluateText(bundle.code, entry);
      if (guard) runBounded(() => run(...args), guard.limitMs + backstopMs);
      else run(...args);
    } catch (thrown) {
      throw asLoadError(thrown, entry);
    }
    return { exports: module.exports, inputs, hash };
  }

  return {
    read,
    evaluate,
    /** `limitMs` bounds the evaluation, and later each of the module's loops. */
    async load(entry: string, limitMs?: number): Promise<UserModule> {
      const guard = limitMs === undefined ? undefined : createLoopGuard(limitMs);
      return evaluate(await read(entry, { guarded: guard !== undefined }), guard);
    },
    /** Builds what a start takes from the caches. */
    async prepare(entry: string): Promise<void> {
      const source = await read(entry);
      if (ownOf(entry)) scriptOf(source);
    },
  };
}
export type Loader = ReturnType<typeof createLoader>;

/** Why a file of a package must not be required. */
function whyForeign(file: string): string | undefined {
  return whyNotOwn(file) ?? whyNotOwn(dirname(file));
}

function evaluateText(code: string, entry: string): Wrapped {
  // biome-ignore lint/security/noGlobalEval: this is how modules are loaded
  // biome-ignore lint/complexity/noCommaOperator: indirect eval runs in the global scope
  return (0, eval)(`${code}\n//# sourceURL=${pathToFileURL(entry).href}`) as Wrapped;
}
