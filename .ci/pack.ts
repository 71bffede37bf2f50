/**
 * Prepares `package.json` for `npm pack`, and restores it afterwards.
 *
 * The packed package holds the built program. A script `prepare` in it would try to build the program again at each
 * `npm install` in the unpacked directory, and development packages are of no use there.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { outdir, packageDir } from "./build/common.ts";

const manifest = join(packageDir, "package.json");
const original = join(outdir, "package.original.json");

if (process.argv[2] === "restore") {
  copyFileSync(original, manifest);
  rmSync(original);
} else {
  await import("./build.ts");
  copyFileSync(manifest, original);
  const { devDependencies: _, scripts, ...rest } = JSON.parse(readFileSync(manifest, "utf8"));
  const packed = { ...rest, scripts: { start: scripts.start } };
  writeFileSync(manifest, `${JSON.stringify(packed, null, 2)}\n`);
}
