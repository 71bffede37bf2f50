/** Which built-in plugin has which command word, as the build has noted it; the command line itself under "". */
import { join } from "node:path";
import { readJson } from "../files/listing.ts";

export const indexFile = (packageDir: string) => join(packageDir, ".build", "commands.json");

/** Undefined where it is not noted. */
export function pluginWithWord(word: string, packageDir: string): string | undefined {
  return new Map(readJson<[string, string][]>(indexFile(packageDir))).get(word);
}
