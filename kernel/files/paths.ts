import { constants, existsSync, promises } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { PorticoError } from "../errors.ts";
import type { Paths } from "../contract/index.ts";
import { describeReason } from "./reason.ts";

/**
 * The program and its chunks are in `.build/`; this file, and its copy in `.build/faces/`, are two directories deep.
 */
const packageDir = resolve(
  import.meta.dirname,
  basename(import.meta.dirname) === ".build" ? ".." : "../..",
);

/** The options of the command line that set locations. */
export interface HomeOptions {
  home?: string | undefined;
  workspace?: string | undefined;
  config?: string | undefined;
}

/**
 * Resolves all locations: from an option, else the environment (`PORTICO_HOME`, `PORTICO_CONFIG`), else below
 * `~/.portico`. Touches no file; `createHome` does.
 */
export function resolvePaths(
  options: HomeOptions = {},
  env: Record<string, string | undefined> = process.env,
): Paths {
  const home = absolutePath(
    options.home || env["PORTICO_HOME"] || join(env["HOME"] || homedir(), ".portico"),
    env,
  );
  return {
    home,
    config: absolutePath(
      options.config || env["PORTICO_CONFIG"] || join(home, "portico.json"),
      env,
    ),
    state: join(home, "state"),
    workspace: absolutePath(options.workspace || join(home, "workspace"), env),
    tmp: join(tmpdir(), "portico"),
    package: packageDir,
  };
}

/** Creates the home (mode 0700) and its directories. Throws `invalid_home` with a remedy if that fails. */
export async function createHome(paths: Paths): Promise<void> {
  for (const name of ["", "hooks", "plugins", "state"])
    await makeDirectory(join(paths.home, name), "home", 0o700);
  await makeDirectory(paths.workspace, "workspace", 0o700);
}

async function makeDirectory(path: string, purpose: string, mode: number): Promise<void> {
  try {
    if (await makeMissing(path, mode)) await promises.chmod(path, mode); // the umask may have removed permissions
    await promises.access(`${path}/.`, constants.R_OK | constants.W_OK | constants.X_OK); // a file has no `.`
  } catch (cause) {
    const option = purpose === "home" ? "--home or PORTICO_HOME" : "--workspace";
    throw new PorticoError(
      "invalid_home",
      `The ${purpose} ${path} cannot be used: ${describeReason(cause)}. Make it readable and writable, or choose another with ${option}.`,
      { status: 500, cause },
    );
  }
}

/** Like a recursive mkdir, which on file systems such as /proc never returns (Node 20). Returns whether `path` was missing. */
async function makeMissing(path: string, mode: number): Promise<boolean> {
  if (existsSync(path)) return false;
  if (dirname(path) !== path) await makeMissing(dirname(path), mode);
  await promises.mkdir(path, { mode }).catch((error) => {
    if (!existsSync(path)) throw error; // another process may have created it
  });
  return true;
}

/** Resolves a path that a person wrote: `~` is the user's home, anything else is relative to the working directory. */
export function absolutePath(
  path: string,
  env: Record<string, string | undefined> = process.env,
): string {
  return resolve(/^~(?=\/|$)/.test(path) ? (env["HOME"] || homedir()) + path.slice(1) : path);
}
