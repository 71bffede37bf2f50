/** Checks what a hook requires of the machine, the environment and the configuration. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { HookMeta } from "./front-matter.ts";

const platformNames: Record<string, string> = { macos: "darwin", windows: "win32" };

/** Returns the missing requirements, one line each. `lookup` returns a configuration value by its key path. */
export function missingRequirements(
  meta: HookMeta,
  env: Readonly<Record<string, string | undefined>>,
  lookup: (key: string) => unknown,
): string[] {
  const missing: string[] = [];
  const platforms = meta.os?.map((name) => platformNames[name.toLowerCase()] ?? name.toLowerCase());
  if (platforms?.length && !platforms.includes(process.platform))
    missing.push(`it supports only ${meta.os?.join(", ")}, and this system is ${process.platform}`);
  if (meta.always) return missing;
  const { bins, anyBins, env: variables, config } = meta.requires;
  const path = env["PATH"] ?? "";
  for (const bin of bins)
    if (!isOnPath(bin, path)) missing.push(`the program ${bin} is not on the PATH`);
  if (anyBins.length && !anyBins.some((bin) => isOnPath(bin, path)))
    missing.push(`none of the programs ${anyBins.join(", ")} is on the PATH`);
  for (const name of variables)
    if (!env[name]) missing.push(`the environment variable ${name} is not set`);
  for (const key of config)
    if (!isSet(lookup(key))) missing.push(`the configuration does not set ${key}`);
  return missing;
}

const isSet = (value: unknown) =>
  value !== undefined && value !== null && value !== false && value !== "";

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
