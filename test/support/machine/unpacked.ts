/**
 * Servers that tests run and the registry does not have: found on the machine, or unpacked from the system's package into
 * a directory of the tests' own. Installing one would start it, on ports that belong to others.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { packageDir } from "../gateway.ts";

const cache = join(packageDir, "node_modules", ".cache", "unpacked");

/** The program's path; `file` is where its package has it, below `/`. */
export function findOrUnpack(name: string, file: string): string {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  const found = dirs.map((dir) => join(dir, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  const home = join(cache, name);
  if (!existsSync(home)) unpack(name, home);
  return join(home, file);
}

function unpack(name: string, home: string): void {
  console.log(`No ${name} found: unpacking the system's package of it.`);
  mkdirSync(dirname(home), { recursive: true });
  const part = mkdtempSync(`${home}-`);
  try {
    try {
      run(part, "apt-get", ["download", name]);
    } catch {
      const [command = "", ...asRoot] = [...(process.getuid?.() === 0 ? [] : ["sudo", "-n"]), "apt-get", "update"];
      run(part, command, asRoot);
      run(part, "apt-get", ["download", name]);
    }
    for (const archive of readdirSync(part).filter((file) => file.endsWith(".deb")))
      run(part, "dpkg", ["-x", archive, "."]);
    renameSync(part, home);
  } catch (cause) {
    rmSync(part, { recursive: true, force: true });
    throw new Error(`These tests need ${name}, which could not be had: install it and run the tests again.`, { cause });
  }
}

function run(cwd: string, command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd, stdio: "ignore" });
}
