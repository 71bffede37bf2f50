/** The files of `examples/deploy`, with the addresses and paths of a test. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as assert from "uvu/assert";
import { packageDir } from "../../support/gateway.ts";

export const deployDir = join(packageDir, "examples", "deploy");

export function readExample(name: string): string {
  return readFileSync(join(deployDir, name), "utf8");
}

/** Writes a copy in which each of these texts, which must be there, is replaced. Returns its path. */
export function writeExample(dir: string, name: string, replaced: Record<string, string>): string {
  let text = readExample(name);
  for (const [from, to] of Object.entries(replaced)) {
    assert.ok(text.includes(from), `${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}
