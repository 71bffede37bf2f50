/** Where the workspace is: asked by the gateway and by the command line, so that both find the same hooks and plugins. */
import { join } from "node:path";
import { expandReferences } from "./references.ts";
import { valueAt } from "../text/key-path.ts";
import { absolutePath } from "../files/paths.ts";
import type { Paths } from "../contract/index.ts";

/**
 * `--workspace` wins over `agents.defaults.workspace`. `raw` is what the configuration file says, references as they are
 * written. One to a variable that is not set moves nothing: the check of the configuration reports it.
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
