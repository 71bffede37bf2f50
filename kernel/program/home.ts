/** Reads a home on disk, for commands that work without a gateway. None of its plugins is set up. */
import { type Environment, envFileIn, addVariables } from "../config/environment.ts";
import type { ConfigStore } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { historyFileFor } from "../config/history.ts";
import { mentions, readConfigFile, resolveReferences } from "../config/read.ts";
import { expandReferences } from "../config/references.ts";
import type { Loader } from "../loader/load.ts";
import { type PluginCandidate, readPlugins } from "../host/extensions/plugins/candidate.ts";
import { findCheck, declaredNames } from "../host/extensions/plugins/declared.ts";
import { isTrust, listTrustedRoots, type Trust } from "../host/extensions/roots.ts";
import { type HomeOptions, resolvePaths } from "../files/paths.ts";
import { withWorkspace } from "../config/workspace.ts";
import { valueAt } from "../text/key-path.ts";
import type { EventOutline, Paths, PluginDefinition } from "../contract/index.ts";
import { pluginWithWord } from "../home/command-index.ts";
import type { ConfigFile } from "../home/config-file.ts";
import type { HooksOnDisk } from "./hooks-on-disk.ts";
import { readRunning, type RunningGateway } from "../home/running.ts";

export type LoaderFor = (paths: Paths) => Loader;

/** The paths of a home, and the trust that decides which plugins it loads. */
interface Home {
  paths: Paths;
  trust: Trust;
  /** The variables of the process, and those of the home's `.env`. */
  env: Environment;
  loaderFor: LoaderFor;
}

/**
 * Resolves the home. An invalid configuration does not stop a command here; the commands that need its values report
 * it.
 */
function homeOf(options: HomeOptions, environment: Environment): Omit<Home, "loaderFor"> {
  const paths = resolvePaths(options, environment);
  try {
    const raw = readConfigFile(paths.config);
    const env = addVariables(environment, envFileIn(paths.home));
    const trust = valueAt(expandReferences(raw, env).value, ["plugins", "trust"]) ?? "managed";
    // Plugins have no `approved`, and the meaning of any other value is unknown.
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
  return readPlugins(listTrustedRoots("plugins", paths, { trust }), loaderFor(paths), only);
}

/** Opens the configuration file, with the sections of all plugins that the home would load. */
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
    // The schema of a plugin that does not load is unknown, so its section may have any value.
    const schemas = meta ? (meta.config ?? {}) : { [name]: Type.Optional(Type.Any()) };
    config.define(dir, schemas, findCheck(candidate, candidates));
  }
  return config;
}

/** Opens a home for commands. */
export function openHome(options: HomeOptions, env: Environment, loaderFor: LoaderFor) {
  const home = { ...homeOf(options, env), loaderFor };
  const { paths } = home;
  return {
    /** The workspace is the configured one; a gateway may have been started with another. */
    paths,
    /** Returns the gateway that runs from this home, if any. */
    running: (): RunningGateway | undefined => readRunning(paths.state),
    /** Returns the port and the secret of the gateway, as the configuration sets them now. */
    async access(): Promise<{ port: number | string; secret: string | undefined }> {
      const { gateway } = readConfigFile(paths.config) as {
        gateway?: { port?: number | string; auth?: { token?: string; password?: string } };
      };
      const variables = addVariables(env, envFileIn(paths.home));
      const secret = resolveReferences(
        gateway?.auth?.token ?? gateway?.auth?.password,
        variables,
      ) as string | undefined;
      return {
        port: resolveReferences(gateway?.port ?? 18789, variables) as number | string,
        secret,
      };
    },
    /** Opens the configuration file, or another file. Throws a `config_error` if it cannot be read. */
    async config(file?: string): Promise<ConfigFile> {
      const { ConfigFile } = await import("../home/config-file.ts");
      return new ConfigFile(await openHomeConfig(home, env, file));
    },
    /** Returns the definitions of the plugins. With `word`, loads only the plugin that is known to have the command. */
    async definitions(word?: string): Promise<PluginDefinition[]> {
      const only = word === undefined ? undefined : (pluginWithWord(word, paths.package) ?? word);
      return (await pluginsOf(home, only)).flatMap(({ meta }) => meta ?? []);
    },
    /** Returns the plugins that do not load. */
    async broken(): Promise<{ name: string; entry: string; reason: string }[]> {
      return (await pluginsOf(home)).flatMap(({ name, entry, refused, problem }) => {
        const reason = refused ?? problem?.message;
        return reason === undefined ? [] : [{ name, entry, reason }];
      });
    },
    /** Returns the declarations of events by name: the kernel's, and those of the plugins. */
    async events(): Promise<Record<string, EventOutline>> {
      const { kernelEvents } = await import("../gateway/events.ts");
      return Object.assign(
        {},
        ...(await pluginsOf(home)).map(({ meta }) => meta?.events).reverse(),
        kernelEvents,
      );
    },
    /** Reads the hooks as a gateway with that workspace would. */
    async hooks(workspace: string): Promise<HooksOnDisk> {
      const { openHooks } = await import("./hooks-on-disk.ts");
      return openHooks({ paths: { ...paths, workspace }, env: home.env, loader: loaderFor(paths) });
    },
  };
}
/** A home on disk. None of its plugins is set up; an invalid configuration stops only what needs it. */
export type HomeOnDisk = ReturnType<typeof openHome>;
