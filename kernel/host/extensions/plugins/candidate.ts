/** From a directory to a plugin's definition, without setting anything up. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { runAs } from "../../owner.ts";
import type { ConfigOf, ConfigSchemas, PluginDefinition } from "../../../contract/index.ts";
import { discover, type Found, sourceNames } from "../discover.ts";
import type { Loader } from "../../../loader/load.ts";
import { createLoopGuard } from "../../../loader/loop-guard.ts";
import { LoadError, problemOf } from "../../../loader/problem.ts";
import type { Root } from "../roots.ts";
import { whyInputsUnsafe } from "../safety.ts";
import type { Candidate, Version } from "../slot.ts";

export interface PluginCandidate extends Candidate<PluginDefinition> {
  loadMs: number;
}

export interface PluginVersion extends Version {
  candidate: PluginCandidate;
  /** As its setup got it, or has taken it since. */
  config?: ConfigOf<ConfigSchemas>;
  setupMs?: number;
  onConfig?: (
    next: ConfigOf<ConfigSchemas>,
    previous: ConfigOf<ConfigSchemas>,
  ) => void | Promise<void>;
}

export const pluginEntryNames = sourceNames("plugin");
/** What a hook's `ctx` has without any plugin. */
const KERNEL_MEMBERS = /^(log|config|env|signal|unloaded|paths|emit)$/;
/** A loop of a user's plugin that keeps everything else waiting is ended after this, also in its setup and later. */
const blockLimitMs = 5000;

/** Reads what discovery found, which runs its module. Never throws: what is wrong stands in the candidate. */
export async function readPlugin(
  found: Found,
  loader: Loader,
  before?: PluginCandidate,
): Promise<PluginCandidate> {
  const isUsers = found.root.name !== "bundled";
  // The package's own files change with an update, which is a restart.
  if (!isUsers && before?.meta) return before;
  const began = performance.now();
  const candidate: PluginCandidate = { ...found, hash: "", warnings: [], loadMs: 0 };
  if (candidate.refused) return candidate;
  try {
    const source = await loader.read(found.entry, { guarded: isUsers });
    Object.assign(candidate, { source, hash: source.hash });
    candidate.refused = whyInputsUnsafe(found.root, found.realDir, source.inputs);
    if (candidate.refused) return candidate;
    if (before?.meta && before.hash === source.hash && before.realDir === found.realDir)
      return before;
    const work = () => loader.evaluate(source, isUsers ? createLoopGuard(blockLimitMs) : undefined);
    const { exports } = await (isUsers ? runAs(`plugin:${found.name}`, work) : work());
    const definition = exports["default"] as PluginDefinition | undefined;
    if (typeof definition?.name !== "string" || typeof definition.setup !== "function")
      throw new LoadError(
        "plugin.ts must have a default export made by definePlugin({ name, setup })",
        found.entry,
        1,
      );
    if (!Array.isArray(definition.needs ?? []))
      throw new LoadError("needs must be a list of services", found.entry, 1);
    if (Object.values(definition.events ?? {}).some((spec) => !spec?.mode))
      throw new LoadError("events needs a mode for each: { name: { mode } }", found.entry, 1);
    const taken = Object.keys(definition.hookContext ?? {}).find((member) =>
      KERNEL_MEMBERS.test(member),
    );
    if (taken)
      throw new LoadError(
        `hookContext cannot give ${taken}: hooks have it from the gateway`,
        found.entry,
        1,
      );
    try {
      // the whole configuration is read by them: one that is no schema would keep it from being read at all
      if (isUsers)
        for (const schema of Object.values(definition.config ?? {})) TypeCompiler.Code(schema);
    } catch {
      throw new LoadError(
        "config needs a schema of Type for each section: { name: Type.Object({}) }",
        found.entry,
        1,
      );
    }
    Object.assign(candidate, {
      meta: definition,
      name: definition.name,
      loadMs: performance.now() - began,
    });
  } catch (thrown) {
    candidate.problem = problemOf(thrown, found.realDir, found.entry);
  }
  return candidate;
}

/** All below the roots, or that of one directory's name: for schemas and commands. */
export const readPlugins = (
  roots: readonly Root[],
  loader: Loader,
  only?: string,
): Promise<PluginCandidate[]> =>
  Promise.all(discover(roots, pluginEntryNames, only).map((found) => readPlugin(found, loader)));
