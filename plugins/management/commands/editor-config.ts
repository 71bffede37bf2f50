/** The files that an editor needs next to a hook or plugin outside the package. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * Returns a tsconfig.json for a directory outside the package, in which `import type … from "portico"` resolves to this
 * installation.
 */
export function editorConfig(packageDir: string): string {
  const compilerOptions = {
    target: "es2023",
    lib: ["es2023"],
    module: "esnext",
    // Resolves as the loader does, with or without a file extension.
    moduleResolution: "bundler",
    allowJs: true,
    checkJs: true,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    isolatedModules: true,
    resolveJsonModule: true,
    allowImportingTsExtensions: true,
    types: ["node"],
    typeRoots: [nodeTypesDir(packageDir)],
    paths: {
      portico: [join(packageDir, ".build/types/index.d.ts")],
      "portico/*": ["*", "*-kit"].map((folder) =>
        join(packageDir, `.build/types/plugins/${folder}/index.d.ts`),
      ),
    },
  };
  return `${JSON.stringify({ compilerOptions, include: ["./**/*"] }, null, 2)}\n`;
}

function nodeTypesDir(packageDir: string): string {
  try {
    return dirname(
      dirname(createRequire(join(packageDir, "package.json")).resolve("@types/node/package.json")),
    );
  } catch {
    return join(packageDir, "node_modules/@types");
  }
}
