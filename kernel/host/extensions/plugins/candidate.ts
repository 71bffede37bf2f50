/** From a directory to a plugin's definition, without setting anything up. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { runAs } from "../../owner.ts";
import type { ConfigOf, ConfigSchemas, PluginDefinition } from "../../../contract/index.ts";
import { discover, type ExtensionDirectory, sourceNames } from "../discover.ts";
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
  /** The data that versions from the same directory pass on; see `PluginContext.keep`. */
  kept?: Map<string, object>;
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

/** Reads what discovery found, which runs its module. Never throws: the candidate holds the problem. */
export async function readPlugin(
  found: ExtensionDirectory,
  loader: Loader,
  before?: PluginCandidate,
): Promise<PluginCandidate> {
  // The package's own files change with an update, which is a restart.
  if (!isOfUser(found) && before?.meta) return before;
  const candidate: PluginCandidate = { ...found, hash: "", warnings: [], loadMs: 0 };
  if (candidate.refused) return candidate;
  try {
    return await readInto(candidate, loader, before);
  } catch (thrown) {
    candidate.problem = problemOf(thrown, found.realDir, found.entry);
    return candidate;
  }
}

const isOfUser = ({ root }: ExtensionDirectory): boolean => root.name !== "bundled";

/** Returns the candidate of the scan before, where the files are the same. */
async function readInto(
  candidate: PluginCandidate,
  loader: Loader,
  before: PluginCandidate | undefined,
): Promise<PluginCandidate> {
  const { root, realDir, entry, name } = candidate;
  const began = performance.now();
  const isUsers = isOfUser(candidate);
  const source = await loader.read(entry, { guarded: isUsers });
  candidate.source = source;
  candidate.hash = source.hash;
  candidate.refused = whyInputsUnsafe(root, realDir, source.inputs);
  if (candidate.refused) return candidate;
  if (before?.meta && before.hash === source.hash && before.realDir === realDir) return before;
  const work = () => loader.evaluate(source, isUsers ? createLoopGuard(blockLimitMs) : undefined);
  const { exports } = await (isUsers ? runAs(`plugin:${name}`, work) : work());
  const definition = exports["default"] as PluginDefinition | undefined;
  const fault = faultOf(definition) ?? (isUsers ? schemaFaultOf(definition) : undefined);
  if (fault !== undefined) throw new LoadError(fault, entry, 1);
  candidate.meta = definition as PluginDefinition;
  candidate.name = candidate.meta.name;
  candidate.loadMs = performance.now() - began;
  return candidate;
}

/** What is wrong with the shape of a definition. */
function faultOf(definition: PluginDefinition | undefined): string | undefined {
  if (typeof definition?.name !== "string" || typeof definition.setup !== "function")
    return "plugin.ts must have a default export made by definePlugin({ name, setup })";
  if (!Array.isArray(definition.needs ?? [])) return "needs must be a list of services";
  if (Object.values(definition.events ?? {}).some((spec) => !spec?.mode))
    return "each event needs a mode: events: { name: { mode } }";
  const members = Object.keys(definition.hookContext ?? {});
  const reservedMember = members.find((member) => KERNEL_MEMBERS.test(member));
  return (
    reservedMember &&
    `hookContext cannot provide ${reservedMember}: the gateway already provides it to hooks`
  );
}

/** The whole configuration is read by the schemas: a value that is not a schema would prevent that. */
function schemaFaultOf(definition: PluginDefinition | undefined): string | undefined {
  try {
    for (const schema of Object.values(definition?.config ?? {})) TypeCompiler.Code(schema);
    return undefined;
  } catch {
    return "each section of config needs a schema made with Type: config: { name: Type.Object({}) }";
  }
}

/** All below the roots, or that of one directory's name: for schemas and commands. */
export const readPlugins = (
  roots: readonly Root[],
  loader: Loader,
  only?: string,
): Promise<PluginCandidate[]> =>
  Promise.all(discover(roots, pluginEntryNames, only).map((found) => readPlugin(found, loader)));
