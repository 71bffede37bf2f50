/**
 * Provides `import.meta` in bundled modules. A bundle is one CommonJS function, but each file in it keeps its location
 * on disk: a file that mentions `import.meta` begins with its own constant, which replaces it.
 */
import { createRequire, isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

interface ImportMeta {
  url: string;
  filename: string;
  dirname: string;
  resolve(specifier: string): string;
}

const constant = "$portico_meta";
const members = ["url", "filename", "dirname", "resolve"] as const;

/** For esbuild: the replacements of `import.meta.url` and the like. */
export const importMetaDefines: Record<string, string> = Object.fromEntries(
  members.map((member) => [`import.meta.${member}`, `${constant}.${member}`]),
);

/** Inserts the constant at the start of a file's first line, so that line numbers stay unchanged. */
export function withImportMeta(text: Buffer, path: string): Buffer {
  if (!text.includes("import.meta") || text.subarray(0, 2).toString() === "#!") return text;
  const declaration = `const ${constant} = module.importMeta(${JSON.stringify(path)});`;
  return Buffer.concat([Buffer.from(declaration), text]);
}

/** Returns the function that bundled modules call. `path` is relative to the directory of the entry. */
export const importMetaFor =
  (entry: string) =>
  (path: string): ImportMeta => {
    const filename = resolve(dirname(entry), path);
    const url = pathToFileURL(filename).href;
    return {
      url,
      filename,
      dirname: dirname(filename),
      resolve: (specifier) => resolveSpecifier(specifier, url),
    };
  };

/** Resolves as Node does: a relative or absolute path need not exist, a package must be installed. */
function resolveSpecifier(specifier: string, from: string): string {
  if (isBuiltin(specifier)) return specifier.startsWith("node:") ? specifier : `node:${specifier}`;
  if (/^(?:\.{0,2}\/|\.{1,2}$)/.test(specifier)) return new URL(specifier, from).href;
  if (URL.canParse(specifier)) return new URL(specifier).href;
  return pathToFileURL(createRequire(fileURLToPath(from)).resolve(specifier)).href;
}
