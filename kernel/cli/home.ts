/** A home as it lies on disk: for commands that work without a gateway. Nothing of it is set up. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, envFileIn, withVariables } from "../config/environment.ts";
import { ConfigError } from "../config/error.ts";
import { readConfigFile } from "../config/read.ts";
import { discover } from "../extensions/discover.ts";
import type { Loader } from "../extensions/load/load.ts";
import { pluginEntryNames, readPlugins } from "../extensions/plugins/candidate.ts";
import { rootsOf, type Trust } from "../extensions/roots.ts";
import { type PathOptions, resolvePaths } from "../files/paths.ts";
import { withWorkspace } from "../files/workspace.ts";
import { valueAt } from "../text/key-path.ts";
import type { EventOutline, Paths } from "../types.ts";
import { readRunning } from "./client.ts";
import { editorConfig } from "./editor-config.ts";
import type { HomeOnDisk } from "./types.ts";

/** Where a home's things lie, and whose plugins it loads. */
export interface Home {
  paths: Paths;
  trust: Trust;
}

/** A broken configuration stops no command: it is told by those that need what it says. */
export function homeOf(options: PathOptions, given: Environment): Home {
  const paths = resolvePaths(options, given);
  try {
    const raw = readConfigFile(paths.config);
    const trust = valueAt(raw, ["plugins", "trust"]) as Trust | undefined;
    const env = withVariables(given, envFileIn(paths.home));
    return { paths: withWorkspace(paths, raw, env), trust: trust ?? "managed" };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { paths, trust: speaksOfTrust(paths.config) ? "bundled" : "managed" };
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

export async function definitionsOf({ paths, trust }: Home, given?: Loader, only?: string) {
  const { createPackageLoader } = await import("../extensions/load/package-loader.ts");
  const loader = given ?? createPackageLoader(paths.package, join(paths.state, "cache"));
  const found = discover(rootsOf("plugins", paths, { trust }), pluginEntryNames);
  return readPlugins(only === undefined ? found : found.filter(({ name }) => name === only), loader);
}

/** What commands get of it. */
export function openHome(options: PathOptions, env: Environment): HomeOnDisk {
  const home = homeOf(options, env);
  const { paths } = home;
  const definitions = async () => (await definitionsOf(home)).flatMap(({ meta }) => (meta ? [meta] : []));
  return {
    paths,
    isRunning: () => readRunning(paths.state) !== undefined,
    templates: async () => new Map((await definitions()).flatMap(({ templates }) => Object.entries(templates ?? {}))),
    async events(): Promise<Record<string, EventOutline>> {
      const { kernelEvents } = await import("../gateway/events.ts");
      return Object.assign({ ...kernelEvents }, ...(await definitions()).map(({ events }) => events));
    },
    async hookChecks(workspace, events) {
      const { openHookChecks } = await import("./check-hooks.ts");
      return openHookChecks({ paths: { ...paths, workspace }, env, events });
    },
    editorConfig: () => editorConfig(paths.package),
  };
}
