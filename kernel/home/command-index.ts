/**
 * Finds the built-in plugin that has a command word, in the index that the build wrote. The command line itself has the
 * word "".
 */
import { join } from "node:path";
import { readJson } from "../files/listing.ts";

export const indexFile = (packageDir: string) => join(packageDir, ".build", "commands.json");

/** Returns the plugin's name, or undefined if the index does not have the word. */
export function pluginWithWord(word: string, packageDir: string): string | undefined {
  return new Map(readJson<[string, string][]>(indexFile(packageDir))).get(word);
}
