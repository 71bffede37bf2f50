/** Finds the workspace, for the gateway and the command line alike, so that both use the same hooks and plugins. */
import { join } from "node:path";
import { expandReferences } from "./references.ts";
import { valueAt } from "../text/key-path.ts";
import { absolutePath } from "../files/paths.ts";
import type { Paths } from "../contract/index.ts";

/**
 * Returns the paths with the configured workspace. `--workspace` takes precedence over `agents.defaults.workspace`.
 * `raw` is the content of the configuration file with references unresolved. A reference to an unset variable changes
 * nothing; the check of the configuration reports it.
 */
export function withWorkspace(
  paths: Paths,
  raw: unknown,
  env: Record<string, string | undefined>,
): Paths {
  const configured = valueAt(raw, ["agents", "defaults", "workspace"]);
  if (typeof configured !== "string" || configured === "") return paths;
  if (paths.workspace !== join(paths.home, "workspace")) return paths;
  const { value, problems } = expandReferences(configured, env);
  return problems.length > 0 ? paths : { ...paths, workspace: absolutePath(value as string, env) };
}
