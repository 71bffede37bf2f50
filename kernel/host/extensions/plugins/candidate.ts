/** Reads a plugin's definition from its directory, without setting it up. */
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { runAs } from "../../owner.ts";
import type { ConfigOf, ConfigSchemas, PluginDefinition } from "../../../contract/index.ts";
import { discover, type ExtensionDirectory, listSourceNames } from "../discover.ts";
import type { Loader } from "../../../loader/load.ts";
import { createLoopGuard } from "../../../loader/loop-guard.ts";
import { LoadError, toProblem } from "../../../loader/problem.ts";
import type { Root } from "../roots.ts";
import { findInputProblem } from "../safety.ts";
import type { Candidate, Version } from "../slot.ts";

export interface PluginCandidate extends Candidate<PluginDefinition> {
  loadMs: number;
}

export interface PluginVersion extends Version {
  candidate: PluginCandidate;
  /** The configuration that `setup` received, or that `onConfig` has applied since. */
  config?: ConfigOf<ConfigSchemas>;
  setupMs?: number;
  /** The data that versions from the same directory pass on; see `PluginContext.keep`. */
  keptData?: Map<string, object>;
  onConfig?: (
    next: ConfigOf<ConfigSchemas>,
    previous: ConfigOf<ConfigSchemas>,
  ) => void | Promise<void>;
}

export const pluginEntryNames = listSourceNames("plugin");
/** The members of a hook's `ctx` that the kernel provides. */
const KERNEL_MEMBERS = /^(log|config|env|signal|unloaded|paths|emit)$/;
/** The time after which a blocking loop in a user's plugin is ended, during setup and later. */
const blockLimitMs = 5000;

/**
 * Reads a directory that discovery found, which evaluates its module. Never throws: the candidate holds the problem.
 */
export async function readPlugin(
  directory: ExtensionDirectory,
  loader: Loader,
  previous?: PluginCandidate,
): Promise<PluginCandidate> {
  // The package's own files change only with an update, which is a restart.
  if (!isOfUser(directory) && previous?.meta) return previous;
  const candidate: PluginCandidate = { ...directory, hash: "", warnings: [], loadMs: 0 };
  if (candidate.refused) return candidate;
  try {
    return await readInto(candidate, loader, previous);
  } catch (thrown) {
    candidate.problem = toProblem(thrown, directory.realDir, directory.entry);
    return candidate;
  }
}

const isOfUser = ({ root }: ExtensionDirectory): boolean => root.name !== "bundled";

/** Evaluates the plugin. Returns the candidate of the previous scan if the files are unchanged. */
async function readInto(
  candidate: PluginCandidate,
  loader: Loader,
  previous: PluginCandidate | undefined,
): Promise<PluginCandidate> {
  const { root, realDir, entry, name } = candidate;
  const startedAt = performance.now();
  const isUsers = isOfUser(candidate);
  const source = await loader.read(entry, { guarded: isUsers });
  candidate.source = source;
  candidate.hash = source.hash;
  candidate.refused = findInputProblem(root, realDir, source.inputs);
  if (candidate.refused) return candidate;
  if (previous?.meta && previous.hash === source.hash && previous.realDir === realDir)
    return previous;
  const work = () => loader.evaluate(source, isUsers ? createLoopGuard(blockLimitMs) : undefined);
  const { exports } = await (isUsers ? runAs(`plugin:${name}`, work) : work());
  const definition = exports["default"] as PluginDefinition | undefined;
  const fault = findShapeFault(definition) ?? (isUsers ? findSchemaFault(definition) : undefined);
  if (fault !== undefined) throw new LoadError(fault, entry, 1);
  candidate.meta = definition as PluginDefinition;
  candidate.name = candidate.meta.name;
  candidate.loadMs = performance.now() - startedAt;
  return candidate;
}

/** Returns what is wrong with the shape of a definition, or undefined. */
function findShapeFault(definition: PluginDefinition | undefined): string | undefined {
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

/**
 * Returns what is wrong with the schemas of a definition, or undefined. An invalid schema would make the whole
 * configuration unreadable.
 */
function findSchemaFault(definition: PluginDefinition | undefined): string | undefined {
  try {
    for (const schema of Object.values(definition?.config ?? {})) TypeCompiler.Code(schema);
    return undefined;
  } catch {
    return "each section of config needs a schema made with Type: config: { name: Type.Object({}) }";
  }
}

/** Reads all plugins below the roots, or that in directories of one name, for their schemas and commands. */
export const readPlugins = (
  roots: readonly Root[],
  loader: Loader,
  only?: string,
): Promise<PluginCandidate[]> =>
  Promise.all(
    discover(roots, pluginEntryNames, only).map((directory) => readPlugin(directory, loader)),
  );
