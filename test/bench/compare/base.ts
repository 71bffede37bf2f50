/** The base of a comparison: a directory, or a commit that is built in a temporary directory. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { commandLineOf } from "../harness/built.ts";

/** Returns the directory of a build. Another directory that already contains a build is used unchanged. */
export function builtBase(base: string): string {
  const isDir = existsSync(base);
  const dir = isDir ? resolve(base) : checkout(base);
  if (dir === packageDir || !existsSync(commandLineOf(dir)))
    execFileSync("npm", ["run", "--silent", "build"], {
      cwd: dir,
      stdio: ["ignore", "ignore", "inherit"],
    });
  return dir;
}

function checkout(ref: string): string {
  const dir = temporaryDir("portico-bench-");
  const archive = execFileSync("git", ["archive", ref], { cwd: packageDir, maxBuffer: 1024 ** 3 });
  execFileSync("tar", ["-x"], { cwd: dir, input: archive });
  const readLock = (packageRoot: string) =>
    readFileSync(join(packageRoot, "package-lock.json"), "utf8");
  if (readLock(dir) === readLock(packageDir))
    symlinkSync(join(packageDir, "node_modules"), join(dir, "node_modules"));
  // not `npm ci`, since lock files of earlier commits lack packages of other platforms
  else
    execFileSync("npm", ["install", "--ignore-scripts"], {
      cwd: dir,
      stdio: ["ignore", "ignore", "inherit"],
    });
  return dir;
}
