/**
 * Protects the files that the agent may never write: those that Portico evaluates, and those that it reads as settings.
 * Every tool and route that writes for the agent calls this at the moment of writing, regardless of who caused the
 * turn.
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
 * Returns why the agent may not write a file, or undefined if it may. `root` is the directory that the turn works in: a
 * sandbox is below the home and still belongs to the turn.
 */
export type WhyProtected = (path: string, root?: string) => string | undefined;

/** The files that package managers and compilers read in the directory of a module and in all directories above it. */
const SETTINGS =
  /^(package\.json|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|pnpm-workspace\.yaml|bun\.lockb?|(ts|js)config([.-].*)?\.json|\.npmrc|\.yarnrc(\.yml)?|\.pnp\..*)$/;

/** Returns one spelling for all names that some file systems treat as the same. */
const fold = (path: string): string => path.normalize("NFC").toLowerCase();

/** Removes an extension that an import may omit or exchange. */
const stripExtension = (path: string): string => path.replace(/\.([cm]?[jt]sx?|json|css)$/, "");

/** Resolves the real path, also of a file that does not exist yet. */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  const parent = dirname(path);
  return parent === path ? path : join(realPathOf(parent), basename(path));
}

export function createProtection(options: ProtectionOptions): WhyProtected {
  const { home, state, config, package: packageDir } = options.paths;
  const foldedRealPath = (path: string): string => fold(realPathOf(path));

  return (path, root = options.paths.workspace) => {
    const file = foldedRealPath(path);
    const turnDir = foldedRealPath(root);
    const code = [...options.extensionRoots(), join(home, "transforms")].map(foldedRealPath);
    if (isAmong(file, code)) return "Portico runs the code in this directory";
    if (file.split(/[\\/]/).includes("node_modules"))
      return "hooks and plugins import packages from node_modules";
    // The turn's own directory may be below these; everything else in them belongs to Portico.
    const ownDirs = [home, state, packageDir]
      .map(foldedRealPath)
      .filter((dir) => !isInside(turnDir, dir));
    if (isAmong(file, [...ownDirs, ...[config, join(home, ".env")].map(foldedRealPath)]))
      return "it belongs to Portico itself";
    return whyEvaluated(file, code, options.evaluated(), foldedRealPath);
  };
}

const isAmong = (file: string, directories: readonly string[]): boolean =>
  directories.some((directory) => isInside(file, directory));

function whyEvaluated(
  file: string,
  code: readonly string[],
  evaluated: Iterable<EvaluatedFiles>,
  toRealPath: (path: string) => string,
): string | undefined {
  const isSetting = SETTINGS.test(basename(file));
  const directory = dirname(file);
  if (isSetting && code.some((root) => isInside(root, directory)))
    return "hooks and plugins in or below its directory depend on this settings file";
  for (const { files, imports, packages } of evaluated) {
    if (isAmong(file, [...packages].map(toRealPath)))
      return "a hook or plugin requires this package";
    for (const path of [...files, ...imports]) {
      const importedPath = toRealPath(path);
      if (isImportTarget(file, importedPath)) return "a hook or plugin imports it";
      if (isSetting && isInside(dirname(importedPath), directory))
        return "a file that a hook or plugin imports depends on this settings file";
    }
  }
  return undefined;
}

/** Whether an import resolves to a file, or would if the file existed: `lib` is `lib.ts` as well as `lib/index.ts`. */
function isImportTarget(file: string, importedPath: string): boolean {
  const candidates = [file, stripExtension(file)];
  if (/^(index\..*|package\.json)$/.test(basename(file))) candidates.push(dirname(file));
  return candidates.includes(importedPath) || candidates.includes(stripExtension(importedPath));
}
