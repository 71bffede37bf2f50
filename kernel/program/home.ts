/** A home as it lies on disk: for commands that work without a gateway. Nothing of it is set up. */
import { type Environment, envFileIn, withVariables } from "../config/environment.ts";
import type { ConfigStore } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { historyFileFor } from "../config/history.ts";
import { mentions, readConfigFile, withoutReferences } from "../config/read.ts";
import { expandReferences } from "../config/references.ts";
import type { Loader } from "../loader/load.ts";
import { type PluginCandidate, readPlugins } from "../host/extensions/plugins/candidate.ts";
import { checkOf, declaredNames } from "../host/extensions/plugins/declared.ts";
import { isTrust, rootsOf, type Trust } from "../host/extensions/roots.ts";
import { type HomeOptions, resolvePaths } from "../files/paths.ts";
import { withWorkspace } from "../config/workspace.ts";
import { valueAt } from "../text/key-path.ts";
import type { EventOutline, Paths, PluginDefinition } from "../contract/index.ts";
import { pluginWithWord } from "../home/command-index.ts";
import type { ConfigFile } from "../home/config-file.ts";
import type { HooksOnDisk } from "./hooks-on-disk.ts";
import { readRunning, type RunningGateway } from "../home/running.ts";

export type LoaderFor = (paths: Paths) => Loader;

/** Where a home's things lie, and whose plugins it loads. */
interface Home {
  paths: Paths;
  trust: Trust;
  /** The process's variables, and those of its `.env`. */
  env: Environment;
  loaderFor: LoaderFor;
}

/** A broken configuration stops no command here. The commands that need its values report it. */
function homeOf(options: HomeOptions, environment: Environment): Omit<Home, "loaderFor"> {
  const paths = resolvePaths(options, environment);
  try {
    const raw = readConfigFile(paths.config);
    const env = withVariables(environment, envFileIn(paths.home));
    const trust = valueAt(expandReferences(raw, env).value, ["plugins", "trust"]) ?? "managed";
    // For plugins there is no `approved`; whom any other word trusts is not known.
    const isClear = isTrust(trust) && trust !== "approved";
    return { paths: withWorkspace(paths, raw, env), trust: isClear ? trust : "bundled", env };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      paths,
      trust: mentions(paths.config, "trust", true) ? "bundled" : "managed",
      env: environment,
    };
  }
}

function pluginsOf({ paths, trust, loaderFor }: Home, only?: string): Promise<PluginCandidate[]> {
  return readPlugins(rootsOf("plugins", paths, { trust }), loaderFor(paths), only);
}

/** The file with the sections of all plugins that the home would load. */
async function openHomeConfig(
  home: Home,
  env: Environment,
  file = home.paths.config,
): Promise<ConfigStore> {
  const { openConfig } = await import("../config/config.ts");
  const envFile = envFileIn(home.paths.home);
  const candidates = await pluginsOf(home);
  const config = await openConfig({
    file,
    env,
    envFile,
    unsetAllowed: readRunning(home.paths.state) !== undefined,
    historyFile: historyFileFor(home.paths.home, home.paths.state, file),
    paths: home.paths,
    names: (point) => {
      const isEnabled = (name: string) => config.kernel.plugins.entries[name]?.enabled !== false;
      const { names, isComplete } = declaredNames(candidates, isEnabled, point);
      return isComplete ? names : undefined;
    },
  });
  const { Type } = await import("@sinclair/typebox");
  for (const candidate of candidates) {
    const { name, dir, meta } = candidate;
    // Of a plugin that does not load, the section's schema is not known: anything goes.
    const schemas = meta ? (meta.config ?? {}) : { [name]: Type.Optional(Type.Any()) };
    config.define(dir, schemas, checkOf(candidate, candidates));
  }
  return config;
}

/** What commands get of it. */
export function openHome(options: HomeOptions, env: Environment, loaderFor: LoaderFor) {
  const home = { ...homeOf(options, env), loaderFor };
  const { paths } = home;
  return {
    /** The workspace is the configured one; a gateway may have been started with another. */
    paths,
    /** The gateway that runs from this home. */
    running: (): RunningGateway | undefined => readRunning(paths.state),
    /** The port of its gateway and the secret that it takes, by what the configuration says now. */
    async access(): Promise<{ port: number | string; secret: string | undefined }> {
      const { gateway } = readConfigFile(paths.config) as {
        gateway?: { port?: number | string; auth?: { token?: string; password?: string } };
      };
      const all = withVariables(env, envFileIn(paths.home));
      const secret = withoutReferences(gateway?.auth?.token ?? gateway?.auth?.password, all) as
        | string
        | undefined;
      return { port: withoutReferences(gateway?.port ?? 18789, all) as number | string, secret };
    },
    /** The configuration's file, or another one. Throws a `config_error` where it cannot be read. */
    async config(file?: string): Promise<ConfigFile> {
      const { ConfigFile } = await import("../home/config-file.ts");
      return new ConfigFile(await openHomeConfig(home, env, file));
    },
    /** What its plugins say of themselves. With `word`, only that one is loaded which is known to have the command. */
    async definitions(word?: string): Promise<PluginDefinition[]> {
      const only = word === undefined ? undefined : (pluginWithWord(word, paths.package) ?? word);
      return (await pluginsOf(home, only)).flatMap(({ meta }) => meta ?? []);
    },
    /** The plugins that do not load. */
    async broken(): Promise<{ name: string; entry: string; reason: string }[]> {
      return (await pluginsOf(home)).flatMap(({ name, entry, refused, problem }) => {
        const reason = refused ?? problem?.message;
        return reason === undefined ? [] : [{ name, entry, reason }];
      });
    },
    /** Event → its declaration: the kernel's, and those of its plugins. */
    async events(): Promise<Record<string, EventOutline>> {
      const { kernelEvents } = await import("../gateway/events.ts");
      return Object.assign(
        {},
        ...(await pluginsOf(home)).map(({ meta }) => meta?.events).reverse(),
        kernelEvents,
      );
    },
    /** Its hooks, as a gateway with that workspace would see them. */
    async hooks(workspace: string): Promise<HooksOnDisk> {
      const { openHooks } = await import("./hooks-on-disk.ts");
      return openHooks({ paths: { ...paths, workspace }, env: home.env, loader: loaderFor(paths) });
    },
  };
}
/** A home as it lies on disk. Nothing of it is set up; a broken configuration stops only what needs it. */
export type HomeOnDisk = ReturnType<typeof openHome>;
