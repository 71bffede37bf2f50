/** The plugins that a home would load, without setting any of them up. */
import { join } from "node:path";
import { readConfigFile } from "../config/read.ts";
import { discover } from "../extensions/discover.ts";
import { loadDefinitions, pluginEntryNames, pluginRoots } from "../plugins/definitions.ts";
import type { Paths } from "../types.ts";

export async function definitionsOf(paths: Paths): ReturnType<typeof loadDefinitions> {
  const { createPackageLoader } = await import("../extensions/package-loader.ts");
  const { plugins } = readConfigFile(paths.config) as { plugins?: { trust?: unknown } };
  const found = discover(pluginRoots(paths, String(plugins?.trust ?? "home")), pluginEntryNames);
  return loadDefinitions(found, createPackageLoader(paths.package, join(paths.state, "cache")));
}
