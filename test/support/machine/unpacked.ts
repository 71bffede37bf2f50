/**
 * Servers that tests run and npm does not provide. They are found on the machine, or unpacked from the system's package into
 * a directory of the tests. Installing a package would start its server, on ports that may be in use.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { packageDir } from "../gateway.ts";

const cache = join(packageDir, "node_modules", ".cache", "unpacked");

/**
 * Returns the program's path; `file` is its path in the package. If it is not on the machine and its package cannot be
 * fetched, perhaps for lack of a network, prints that and returns undefined. The caller then skips its tests.
 */
export function findOrUnpack(name: string, file: string): string | undefined {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const installedProgram = dirs.map((dir) => join(dir, name)).find((path) => existsSync(path));
  if (installedProgram !== undefined) return installedProgram;
  const home = join(cache, name);
  if (existsSync(home) || unpack(name, home)) return join(home, file);
  console.log(
    `SKIPPED for want of ${name}: it is not installed, and its package could not be fetched.`,
  );
  return undefined;
}

function unpack(name: string, home: string): boolean {
  console.log(`No ${name} found: unpacking the system's package of it.`);
  mkdirSync(dirname(home), { recursive: true });
  const temporary = mkdtempSync(`${home}-`);
  try {
    if (!fetchPackage(name, temporary)) return false;
    for (const archive of readdirSync(temporary).filter((file) => file.endsWith(".deb")))
      run(temporary, "dpkg", ["-x", archive, "."]);
    renameSync(temporary, home);
    return true;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function fetchPackage(name: string, into: string): boolean {
  const update = [...(process.getuid?.() === 0 ? [] : ["sudo", "-n"]), "apt-get", "update"];
  const download = ["apt-get", "download", name];
  return [[download], [update, download]].some((commands) => {
    try {
      for (const [command = "", ...args] of commands) run(into, command, args);
      return true;
    } catch {
      return false;
    }
  });
}

function run(cwd: string, command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd, stdio: "ignore" });
}
