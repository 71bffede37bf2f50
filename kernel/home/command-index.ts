/** Which built-in plugin has which command word, as the build has noted it; the command line itself under "". */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const indexFile = (packageDir: string) => join(packageDir, ".build", "commands.json");

/** Undefined where it is not noted. */
export function pluginWithWord(word: string, packageDir: string): string | undefined {
  try {
    return new Map<string, string>(JSON.parse(readFileSync(indexFile(packageDir), "utf8"))).get(word);
  } catch {
    return undefined;
  }
}
