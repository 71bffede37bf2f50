/**
 * Which files the agent may never write: those that Portico evaluates, and those that it reads as settings. Every tool
 * and route that writes for the agent asks here at the moment of writing, regardless of who caused the turn.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { EvaluatedFiles } from "../../loader/load.ts";
import type { Paths } from "../../contract/index.ts";
import { isInside } from "../../files/own.ts";

export interface ProtectionOptions {
  paths: Paths;
  /** The directories that hooks and plugins are loaded from, trusted or not. */
  extensionRoots: () => readonly string[];
  evaluated: () => Iterable<EvaluatedFiles>;
}

/**
 * Says why the agent may not write a file; undefined where it may. `root` is the directory that the turn works in: a
 * sandbox lies below the home and is still the turn's own.
 */
export type WhyProtected = (path: string, root?: string) => string | undefined;

/** What package managers and compilers read in the directory of a module and in all directories above it. */
const SETTINGS =
  /^(package\.json|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|pnpm-workspace\.yaml|bun\.lockb?|(ts|js)config([.-].*)?\.json|\.npmrc|\.yarnrc(\.yml)?|\.pnp\..*)$/;

/** One spelling of all that some file systems take for the same name. */
const fold = (path: string): string => path.normalize("NFC").toLowerCase();

/** Without one of the extensions that an import may leave out or exchange. */
const withoutExtension = (path: string): string => path.replace(/\.([cm]?[jt]sx?|json|css)$/, "");

/** The real path, also of a file that does not exist yet. */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  const parent = dirname(path);
  return parent === path ? path : join(realPathOf(parent), basename(path));
}

export function createProtection(options: ProtectionOptions): WhyProtected {
  const { home, state, config, package: packageDir } = options.paths;
  const real = (path: string): string => fold(realPathOf(path));

  return (path, root = options.paths.workspace) => {
    const file = real(path);
    const ground = real(root);
    const code = [...options.extensionRoots(), join(home, "transforms")].map(real);
    if (isAmong(file, code)) return "Portico runs the code in this directory";
    if (file.split(/[\\/]/).includes("node_modules"))
      return "hooks and plugins import packages from node_modules";
    // A turn's own directory may lie below these; everything else there is Portico's.
    const own = [home, state, packageDir].map(real).filter((dir) => !isInside(ground, dir));
    if (isAmong(file, [...own, ...[config, join(home, ".env")].map(real)]))
      return "it belongs to Portico itself";
    return whyEvaluated(file, code, options.evaluated(), real);
  };
}

const isAmong = (file: string, directories: readonly string[]): boolean =>
  directories.some((directory) => isInside(file, directory));

function whyEvaluated(
  file: string,
  code: readonly string[],
  evaluated: Iterable<EvaluatedFiles>,
  real: (path: string) => string,
): string | undefined {
  const isSetting = SETTINGS.test(basename(file));
  const directory = dirname(file);
  if (isSetting && code.some((root) => isInside(root, directory)))
    return "it is read together with the hooks and plugins below it";
  for (const { files, imports, packages } of evaluated) {
    if (isAmong(file, [...packages].map(real))) return "a hook or plugin requires this package";
    for (const path of [...files, ...imports]) {
      const used = real(path);
      if (decides(file, used)) return "a hook or plugin imports it";
      if (isSetting && isInside(dirname(used), directory))
        return "it is read together with a file that a hook or plugin imports";
    }
  }
  return undefined;
}

/** Whether a file is what an import leads to, or would be if it existed: `lib` is `lib.ts` as well as `lib/index.ts`. */
function decides(file: string, used: string): boolean {
  const candidates = [file, withoutExtension(file)];
  if (/^(index\..*|package\.json)$/.test(basename(file))) candidates.push(dirname(file));
  return candidates.includes(used) || candidates.includes(withoutExtension(used));
}
