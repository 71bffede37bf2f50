/** A home as it lies on disk: for commands that work without a gateway. Nothing of it is set up. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, envFileIn, withVariables } from "../kernel/config/environment.ts";
import { type ConfigStore, openConfig } from "../kernel/config/config.ts";
import { ConfigError } from "../kernel/config/error.ts";
import { readConfigFile } from "../kernel/config/read.ts";
import { expandReferences } from "../kernel/config/references.ts";
import { discover } from "../kernel/extensions/discover.ts";
import type { Loader } from "../kernel/extensions/load/load.ts";
import { pluginEntryNames, readPlugins } from "../kernel/extensions/plugins/candidate.ts";
import { isTrust, rootsOf, type Trust } from "../kernel/extensions/roots.ts";
import { type PathOptions, resolvePaths } from "../kernel/files/paths.ts";
import { withWorkspace } from "../kernel/files/workspace.ts";
import { valueAt } from "../kernel/text/key-path.ts";
import type { EventOutline, Paths } from "../kernel/types.ts";
import { readRunning } from "./client.ts";
import type { HomeOnDisk } from "../kernel/contract/commands.ts";

/** Where a home's things lie, and whose plugins it loads. */
export interface Home {
  paths: Paths;
  trust: Trust;
  /** The process's variables, and those of its `.env`. */
  env: Environment;
}

/** A broken configuration stops no command: it is told by those that need what it says. */
export function homeOf(options: PathOptions, given: Environment): Home {
  const paths = resolvePaths(options, given);
  try {
    const raw = readConfigFile(paths.config);
    const env = withVariables(given, envFileIn(paths.home));
    const trust = valueAt(expandReferences(raw, env).value, ["plugins", "trust"]) ?? "managed";
    // For plugins there is no `approved`; whom any other word trusts is not known.
    const isClear = isTrust(trust) && trust !== "approved";
    return { paths: withWorkspace(paths, raw, env), trust: isClear ? trust : "bundled", env };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { paths, trust: speaksOfTrust(paths.config) ? "bundled" : "managed", env: given };
  }
}

function speaksOfTrust(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("trust");
  } catch {
    return true;
  }
}

/** The name of the built-in plugin that has a command word, as the build has noted it; undefined where it has not. */
export function pluginWithCommand(word: string, packageDir: string): string | undefined {
  try {
    const index = JSON.parse(readFileSync(join(packageDir, ".build", "commands.json"), "utf8")) as object;
    return new Map<string, string>(Object.entries(index)).get(word);
  } catch {
    return undefined;
  }
}

async function loaderOf(paths: Paths): Promise<Loader> {
  const { createPackageLoader } = await import("../kernel/package-loader.ts");
  return createPackageLoader(paths.package, join(paths.state, "cache"));
}

export async function definitionsOf({ paths, trust }: Home, given?: Loader, only?: string) {
  const loader = given ?? (await loaderOf(paths));
  const found = discover(rootsOf("plugins", paths, { trust }), pluginEntryNames);
  return readPlugins(only === undefined ? found : found.filter(({ name }) => name === only), loader);
}

/** The file with the sections of all plugins that the home would load. */
async function openHomeConfig(home: Home, env: Environment, file = home.paths.config): Promise<ConfigStore> {
  const envFile = envFileIn(home.paths.home);
  const config = await openConfig({ file, env, envFile, unsetAllowed: readRunning(home.paths.state) !== undefined });
  const { Type } = await import("@sinclair/typebox");
  // Of a plugin that does not load, the section's schema is not known: anything goes.
  for (const { name, dir, meta } of await definitionsOf(home))
    config.define(dir, meta ? (meta.config ?? {}) : { [name]: Type.Optional(Type.Any()) });
  return config;
}

/** What commands get of it. */
export function openHome(options: PathOptions, env: Environment): HomeOnDisk {
  const home = homeOf(options, env);
  const { paths } = home;
  const definitions = async () => (await definitionsOf(home)).flatMap(({ meta }) => (meta ? [meta] : []));
  return {
    paths,
    async config(file) {
      const { configFileOf } = await import("./config-file.ts");
      return configFileOf(await openHomeConfig(home, env, file));
    },
    async broken() {
      const all = await definitionsOf(home);
      return all.flatMap(({ name, entry, refused, problem }) => {
        const reason = refused ?? problem?.message;
        return reason === undefined ? [] : [{ name, entry, reason }];
      });
    },
    isRunning: () => readRunning(paths.state) !== undefined,
    templates: async () => new Map((await definitions()).flatMap(({ templates }) => Object.entries(templates ?? {}))),
    checks: async () => new Map((await definitions()).flatMap(({ checks }) => Object.entries(checks ?? {}))),
    async events(): Promise<Record<string, EventOutline>> {
      const { kernelEvents } = await import("../kernel/gateway/events.ts");
      return Object.assign({ ...kernelEvents }, ...(await definitions()).map(({ events }) => events));
    },
    async hooks(workspace) {
      const { openHooks } = await import("./hooks-on-disk.ts");
      const loader = await loaderOf(paths);
      return openHooks({ paths: { ...paths, workspace }, env: home.env, loader });
    },
  };
}
