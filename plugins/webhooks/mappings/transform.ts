/** Transforms: local modules below `<home>/transforms` that change a delivery, or drop it with `null`. */
import { realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { type PluginContext, runBounded, withDeadline } from "portico";
import { errors } from "../errors.ts";
import type { Request } from "./paths.ts";

/** The argument of a transform. */
interface TransformInput extends Request {
  mapping: string;
}
type Transform = (input: TransformInput) => unknown;

interface LoadedTransform {
  run?: Transform | undefined;
  /** The reason why the current version does not load. */
  error?: unknown;
  inputs: readonly string[];
  stamp: string;
}

/** A transform may block the event loop for this long. */
const BLOCKING_MS = 1000;
const EXTENSIONS = ["", ".ts", ".mts", ".js", ".mjs", ".cjs"];

export interface Transforms {
  /**
   * Loads modules before they are needed. From then on, the gateway knows which files they import, and prevents the agent
   * from writing these files.
   */
  prepare(files: Iterable<string>): Promise<void>;
  /** Returns the result of the module's default export. Throws `transform_failed` if it throws, hangs or does not load. */
  run(file: string, input: TransformInput, timeoutMs: number): Promise<unknown>;
}

/** Creates the transforms. The next delivery uses a saved change; if that does not load, the previous version stays active. */
export function createTransforms(ctx: PluginContext): Transforms {
  const transforms = new Map<string, Promise<LoadedTransform>>();

  async function loadCurrent(file: string): Promise<LoadedTransform> {
    const previous = await transforms.get(file);
    if (previous && computeStamp(previous.inputs) === previous.stamp) return previous;
    // Only the first of several deliveries that see the change loads it.
    const latest = transforms.get(file);
    const next = latest && (await latest) !== previous ? latest : load(file, previous);
    transforms.set(file, next);
    return next;
  }

  async function load(
    file: string,
    previous: LoadedTransform | undefined,
  ): Promise<LoadedTransform> {
    let inputs = previous?.inputs ?? [];
    const startedAt = Date.now();
    try {
      const entry = resolveInside(join(ctx.paths.home, "transforms"), file);
      if (inputs.length === 0) inputs = [entry];
      const module = await ctx.load(entry, BLOCKING_MS);
      const run = module.exports["default"] ?? module.exports["transform"];
      if (typeof run !== "function") throw new Error("it has no default export that is a function");
      return {
        run: run as Transform,
        inputs: module.inputs,
        stamp: computeStamp(module.inputs, startedAt),
      };
    } catch (error) {
      ctx.log.error({ err: error, transform: file }, "a transform cannot be loaded");
      return { run: previous?.run, error, inputs, stamp: computeStamp(inputs, startedAt) };
    }
  }

  return {
    async prepare(files) {
      for (const file of files) await loadCurrent(file);
    },
    async run(file, input, timeoutMs) {
      try {
        const { run, error } = await loadCurrent(file);
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

/** Returns the real path of a file below the root. Throws if it is missing, is outside the root, or others may write it. */
function resolveInside(root: string, file: string): string {
  const path = EXTENSIONS.map((extension) => join(root, file + extension)).find((candidate) =>
    statSync(candidate, { throwIfNoEntry: false })?.isFile(),
  );
  if (path === undefined) throw new Error(`there is no ${file} below <home>/transforms`);
  const real = realpathSync(path);
  if (!real.startsWith(realpathSync(root) + sep))
    throw new Error(`${file} is outside <home>/transforms`);
  if ((statSync(real).mode & 0o022) !== 0)
    throw new Error(`${file} is writable by its group or by others: run chmod go-w on it`);
  return real;
}

/** The resolution of the clock of a file system may be as coarse as this. */
const CLOCK_RESOLUTION_MS = 20;

/**
 * Returns a text that changes when a file does. Without files it is random, so that a missing file is searched again. It is
 * also random if a file was saved after `readFrom`, since the content that was read may be older.
 */
function computeStamp(inputs: readonly string[], readFrom = Number.POSITIVE_INFINITY): string {
  const files = inputs.map((path) => statSync(path, { throwIfNoEntry: false }));
  const now = Date.now();
  // A file with a time in the future was not saved just now. Times of files have fractions of a millisecond, ours have none.
  const isFresh = (at = 0) => at > readFrom - CLOCK_RESOLUTION_MS && Math.floor(at) <= now;
  if (files.length === 0 || files.some((file) => isFresh(file?.mtimeMs)))
    return String(Math.random());
  return files.map((file) => (file ? `${file.mtimeMs}:${file.size}` : "missing")).join();
}
