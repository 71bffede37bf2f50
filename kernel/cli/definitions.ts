/** The plugins that a home would load, without setting any of them up. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../config/error.ts";
import { readConfigFile } from "../config/read.ts";
import { discover } from "../extensions/discover.ts";
import type { Loader } from "../extensions/load.ts";
import { type PathOptions, resolvePaths } from "../files/paths.ts";
import { withWorkspace } from "../files/workspace.ts";
import { valueAt } from "../text/key-path.ts";
import { loadDefinitions, pluginEntryNames, pluginRoots } from "../plugins/definitions.ts";
import type { Paths } from "../types.ts";

type Environment = Record<string, string | undefined>;

/** Where a home's things lie, and whose plugins it loads. */
export interface Home {
  paths: Paths;
  trust: string;
}

/** A broken configuration stops no command: it is told by those that need what it says. */
export function homeOf(options: PathOptions, env: Environment): Home {
  const paths = resolvePaths(options, env);
  try {
    const raw = readConfigFile(paths.config);
    return { paths: withWorkspace(paths, raw, env), trust: String(valueAt(raw, ["plugins", "trust"]) ?? "home") };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { paths, trust: speaksOfTrust(paths.config) ? "builtin" : "home" };
  }
}

function speaksOfTrust(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("trust");
  } catch {
    return true;
  }
}

export async function definitionsOf({ paths, trust }: Home, given?: Loader, only?: string) {
  const { createPackageLoader } = await import("../extensions/package-loader.ts");
  const loader = given ?? createPackageLoader(paths.package, join(paths.state, "cache"));
  const found = discover(pluginRoots(paths, trust), pluginEntryNames);
  return loadDefinitions(only === undefined ? found : found.filter(({ name }) => name === only), loader);
}
