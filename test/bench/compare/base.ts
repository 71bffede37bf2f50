/** What is compared with: a directory, or a state of the repository that is built off to the side. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { packageDir } from "../../support/gateway.ts";
import { temporaryDir } from "../../support/temporary.ts";
import { programOf } from "../harness/built.ts";

/** The directory of a build. A directory elsewhere that holds one is taken as it is. */
export function builtBase(base: string): string {
  const isDir = existsSync(base);
  const dir = isDir ? resolve(base) : checkout(base);
  if (dir === packageDir || !existsSync(programOf(dir)))
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
  const lock = (of: string) => readFileSync(join(of, "package-lock.json"), "utf8");
  if (lock(dir) === lock(packageDir))
    symlinkSync(join(packageDir, "node_modules"), join(dir, "node_modules"));
  // not `ci`: lock files of earlier states lack packages of other platforms
  else
    execFileSync("npm", ["install", "--ignore-scripts"], {
      cwd: dir,
      stdio: ["ignore", "ignore", "inherit"],
    });
  return dir;
}
