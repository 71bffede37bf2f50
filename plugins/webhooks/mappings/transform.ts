/** Transforms: local modules below `<home>/transforms` that change a delivery, or drop it with `null`. */
import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type PluginContext, runBounded, withDeadline } from "portico";
import { errors } from "../errors.ts";
import type { Request } from "./paths.ts";

/** What a transform is called with. */
interface TransformInput extends Request {
  mapping: string;
}
type Transform = (input: TransformInput) => unknown;

interface Loaded {
  run?: Transform | undefined;
  /** Why there is no (newer) version. */
  error?: unknown;
  inputs: readonly string[];
  stamp: string;
}

/** How long a transform may keep the gateway from everything else. */
const BLOCKING_MS = 1000;
const ENDINGS = ["", ".ts", ".mts", ".js", ".mjs", ".cjs"];

export interface Transforms {
  /**
   * Loads modules before they are needed. From then on the gateway knows what they import, and keeps the agent from
   * writing it.
   */
  prepare(files: Iterable<string>): Promise<void>;
  /** What the module's default export answers. Throws `transform_failed` where it throws, hangs or does not load. */
  run(file: string, input: TransformInput, timeoutMs: number): Promise<unknown>;
}

/** A saved change is taken at the next delivery; a version that does not load leaves the one before it running. */
export function createTransforms(ctx: PluginContext): Transforms {
  const loaded = new Map<string, Promise<Loaded>>();

  async function current(file: string): Promise<Loaded> {
    const before = await loaded.get(file);
    if (before && stampOf(before.inputs) === before.stamp) return before;
    // only the first of several that see the change loads it
    const again = loaded.get(file);
    const fresh = again && (await again) !== before ? again : load(file, before);
    loaded.set(file, fresh);
    return fresh;
  }

  async function load(file: string, before: Loaded | undefined): Promise<Loaded> {
    let inputs = before?.inputs ?? [];
    const began = Date.now();
    try {
      const entry = confined(join(ctx.paths.home, "transforms"), file);
      if (inputs.length === 0) inputs = [entry];
      const module = await ctx.load(entry, BLOCKING_MS);
      const run = module.exports["default"] ?? module.exports["transform"];
      if (typeof run !== "function") throw new Error("it has no default export that is a function");
      return { run: run as Transform, inputs: module.inputs, stamp: stampOf(module.inputs, began) };
    } catch (error) {
      ctx.log.error({ err: error, transform: file }, "a transform does not load");
      return { run: before?.run, error, inputs, stamp: stampOf(inputs, began) };
    }
  }

  return {
    async prepare(files) {
      for (const file of files) await current(file);
    },
    async run(file, input, timeoutMs) {
      try {
        const { run, error } = await current(file);
        if (!run) throw error;
        return await withDeadline(
          runBounded(() => run(structuredClone(input)), Math.min(timeoutMs, BLOCKING_MS)),
          timeoutMs,
          () => new Error(`still running after ${timeoutMs} ms`),
        );
      } catch (error) {
        throw errors.transformFailed({ mapping: input.mapping }, { cause: error });
      }
    },
  };
}

/** The real path of a file below the root. Throws where there is none, it leads out, or others may write it. */
function confined(root: string, file: string): string {
  const path = ENDINGS.map((ending) => join(root, file + ending)).find((candidate) =>
    statSync(candidate, { throwIfNoEntry: false })?.isFile(),
  );
  if (path === undefined) throw new Error(`there is no ${file} below <home>/transforms`);
  const real = realpathSync(path);
  if (!real.startsWith(realpathSync(root) + sep))
    throw new Error(`${file} leads out of <home>/transforms`);
  if ((statSync(real).mode & 0o022) !== 0)
    throw new Error(`${file} is writable by its group or by others: run chmod go-w on it`);
  return real;
}

/** The clock of a file system may tick as rarely as this. */
const COARSE_MS = 20;

/**
 * Changes when a file does. Without files it never fits, so that a file that was missing is looked for again; and neither
 * does one of files that were saved after `readFrom`: what was read may be older.
 */
function stampOf(inputs: readonly string[], readFrom = Number.POSITIVE_INFINITY): string {
  const files = inputs.map((path) => statSync(path, { throwIfNoEntry: false }));
  const now = Date.now();
  // One that says it is of the future was not saved just now; a file's time has parts of the millisecond, and ours has none.
  const isFresh = (at = 0) => at > readFrom - COARSE_MS && Math.floor(at) <= now;
  if (files.length === 0 || files.some((file) => isFresh(file?.mtimeMs)))
    return String(Math.random());
  return files.map((file) => (file ? `${file.mtimeMs}:${file.size}` : "gone")).join();
}
