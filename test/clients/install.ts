/** Installs pinned versions of programs into a cache folder, each with its own packages. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ClientProgram } from "./programs/program.ts";

/** Marker files in a cache folder. */
const INSTALLED = "installed";
const REASON = "not-installed";
const run = promisify(execFile);
const cacheRoot =
  process.env["PORTICO_CLIENTS_CACHE"] ?? join(homedir(), ".cache", "portico-clients");

export function cacheOf({ packages }: Pick<ClientProgram, "packages">): string {
  return join(cacheRoot, packages.join("_").replace(/[^a-z0-9.@-]/gi, "-"));
}

export async function install(program: ClientProgram): Promise<void> {
  const cache = cacheOf(program);
  if (!existsSync(join(cache, INSTALLED))) {
    console.error(`installing ${program.packages.join(" ")}`);
    mkdirSync(cache, { recursive: true });
    try {
      if (program.registry === "npm") await installFromNpm(program, cache);
      else await installFromPip(program, cache);
      writeFileSync(join(cache, INSTALLED), "");
    } catch (error) {
      console.error((error as Error).message);
      writeFileSync(join(cache, REASON), reasonOf(error as Error));
      return;
    }
  }
  // JavaScript resolves packages from the script's own directory.
  if (program.registry === "npm") copyScripts(cache);
}

/** Returns the reason why a program is not installed, or `undefined` if it is. */
export function missingReason(program: ClientProgram): string | undefined {
  const cache = cacheOf(program);
  if (existsSync(join(cache, INSTALLED))) return undefined;
  return existsSync(join(cache, REASON)) ? readFileSync(join(cache, REASON), "utf8") : "unknown";
}

/** Returns the first line of npm's or pip's output that names an error, shortened for a cell of the table. */
function reasonOf({ message }: Error): string {
  const line = message.split("\n").find((text) => /error/i.test(text)) ?? message;
  return line.replaceAll("|", "/").slice(0, 120);
}

async function installFromNpm({ packages }: ClientProgram, cwd: string): Promise<void> {
  writeFileSync(join(cwd, "package.json"), '{"private":true}');
  await run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd });
}

async function installFromPip({ packages }: ClientProgram, cwd: string): Promise<void> {
  await run(process.env["PORTICO_TEST_PYTHON"] ?? "python3", ["-m", "venv", cwd]);
  await run(join(cwd, "bin/pip"), ["install", "--disable-pip-version-check", ...packages]);
}

function copyScripts(cache: string): void {
  cpSync(join(import.meta.dirname, "programs/scripts"), join(cache, "scripts"), {
    recursive: true,
  });
}
