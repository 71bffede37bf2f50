/**
 * Includes modules of the package in a bundle, where the kernel finds them by their paths: see `kernel/built-in.ts`.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "esbuild";
import { packageDir } from "./common.ts";

/** The modules that plugins publish as `portico/<plugin>`. */
export const faces = () => withFile("plugins", "index.ts");

/** The package's own extensions, as discovery finds them. */
export const extensions = () => [
  ...withFile("plugins", "plugin.ts"),
  ...withFile("hooks", "handler.ts"),
];

function withFile(room: string, file: string): string[] {
  const paths = readdirSync(join(packageDir, room)).map((name) => `${room}/${name}/${file}`);
  return paths.filter((path) => existsSync(join(packageDir, path)));
}

/** `paths` are relative to the package. */
export function builtIn(paths: readonly string[]): Plugin {
  const entries = paths.map(
    (path) => `[${JSON.stringify(path)}, () => import(${JSON.stringify(`../${path}`)})],`,
  );
  return {
    name: "built-in",
    setup({ onLoad }) {
      onLoad({ filter: /\/kernel\/built-in\.ts$/ }, () => ({
        contents: `export const builtIn = new Map([${entries.join("\n")}]);`,
      }));
    },
  };
}
