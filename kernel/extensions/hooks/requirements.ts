/** What a hook requires of the machine, the environment and the configuration. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { HookMeta } from "./front-matter.ts";

export interface Surroundings {
  platform: string;
  /** The process's environment with the hook's own variables laid over it. */
  env: Record<string, string | undefined>;
  /** A value of the configuration by its key path. */
  lookup(key: string): unknown;
}

const platformNames: Record<string, string> = { macos: "darwin", windows: "win32" };

/** What is missing, one line each; nothing where the hook may run. */
export function missingRequirements(meta: HookMeta, around: Surroundings): string[] {
  const missing: string[] = [];
  const platforms = meta.os?.map((name) => platformNames[name.toLowerCase()] ?? name.toLowerCase());
  if (platforms?.length && !platforms.includes(around.platform)) {
    missing.push(`it is for ${meta.os?.join(", ")}, and this is ${around.platform}`);
  }
  if (meta.always) return missing;
  const { bins, anyBins, env, config } = meta.requires;
  const path = around.env["PATH"] ?? "";
  for (const bin of bins) if (!isOnPath(bin, path)) missing.push(`the program ${bin} is not on the PATH`);
  if (anyBins.length && !anyBins.some((bin) => isOnPath(bin, path))) {
    missing.push(`none of the programs ${anyBins.join(", ")} is on the PATH`);
  }
  for (const name of env) if (!around.env[name]) missing.push(`the environment variable ${name} is not set`);
  for (const key of config) if (!isSet(around.lookup(key))) missing.push(`the configuration does not set ${key}`);
  return missing;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== "";
}

function isOnPath(bin: string, path: string): boolean {
  return path.split(delimiter).some((dir) => {
    if (dir === "") return false;
    const file = join(dir, bin);
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}
