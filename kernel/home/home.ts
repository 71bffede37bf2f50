/** A home as it lies on disk: for commands that work without a gateway. Nothing of it is set up. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, envFileIn, withVariables } from "../config/environment.ts";
import { type ConfigStore, openConfig } from "../config/config.ts";
import type { Command, HomeOnDisk } from "../contract/commands.ts";
import type { HomeOptions } from "../contract/program.ts";
import { ConfigError } from "../config/error.ts";
import { readConfigFile, withoutReferences } from "../config/read.ts";
import { expandReferences } from "../config/references.ts";
import { discover } from "../extensions/discover.ts";
import type { Loader } from "../extensions/load/load.ts";
import { pluginEntryNames, readPlugins } from "../extensions/plugins/candidate.ts";
import { isTrust, rootsOf, type Trust } from "../extensions/roots.ts";
import { resolvePaths } from "../files/paths.ts";
import { withWorkspace } from "../files/workspace.ts";
import { valueAt } from "../text/key-path.ts";
import type { EventOutline, Paths } from "../types.ts";
import { pluginWithWord } from "./command-index.ts";
import { readRunning } from "./running.ts";

type LazyCommand = () => Promise<{ default: Command }>;

/** Where a home's things lie, and whose plugins it loads. */
interface Home {
  paths: Paths;
  trust: Trust;
  /** The process's variables, and those of its `.env`. */
  env: Environment;
}

/** A broken configuration stops no command: it is told by those that need what it says. */
function homeOf(options: HomeOptions, given: Environment): Home {
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

async function loaderOf(paths: Paths): Promise<Loader> {
  const { createPackageLoader } = await import("../package-loader.ts");
  return createPackageLoader(paths.package, join(paths.state, "cache"));
}

async function definitionsOf({ paths, trust }: Home, given?: Loader, only?: string) {
  const loader = given ?? (await loaderOf(paths));
  return readPlugins(discover(rootsOf("plugins", paths, { trust }), pluginEntryNames, only), loader);
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
export function openHome(options: HomeOptions, env: Environment, commandLoader: Loader): HomeOnDisk {
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
    running: () => readRunning(paths.state),
    async access() {
      const { gateway } = readConfigFile(paths.config) as {
        gateway?: { port?: number | string; auth?: { token?: string; password?: string } };
      };
      const all = withVariables(env, envFileIn(paths.home));
      const secret = withoutReferences(gateway?.auth?.token ?? gateway?.auth?.password, all) as string | undefined;
      return { port: withoutReferences(gateway?.port ?? 18789, all) as number | string, secret };
    },
    async commands(word) {
      const only = word === undefined ? undefined : (pluginWithWord(word, paths.package) ?? word);
      const all = (await definitionsOf(home, commandLoader, only)).map(({ meta }) => meta);
      return {
        byWord: new Map(all.flatMap((one): [string, LazyCommand][] => Object.entries(one?.commands ?? {}))),
        firstSteps: all.flatMap((one) => one?.firstSteps ?? []),
      };
    },
    templates: async () => new Map((await definitions()).flatMap(({ templates }) => Object.entries(templates ?? {}))),
    checks: async () => new Map((await definitions()).flatMap(({ checks }) => Object.entries(checks ?? {}))),
    async events(): Promise<Record<string, EventOutline>> {
      const { kernelEvents } = await import("../gateway/events.ts");
      return Object.assign({ ...kernelEvents }, ...(await definitions()).map(({ events }) => events));
    },
    async hooks(workspace) {
      const { openHooks } = await import("./hooks-on-disk.ts");
      const loader = await loaderOf(paths);
      return openHooks({ paths: { ...paths, workspace }, env: home.env, loader });
    },
  };
}
