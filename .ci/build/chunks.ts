/** What the program consists of: functions, each of which is called when one first needs it. */
import { basename } from "node:path";
import { type BuildResult, transform, type TransformOptions } from "esbuild";
import { common } from "./common.ts";

export interface Chunk {
  /** As others require it: `./main.js`. */
  name: string;
  /** The module that it was made for, relative to the package; empty where several share it. */
  entry: string;
  /** Those that it requires when it is called itself. */
  needs: string[];
  /** A function's body, to which `exports`, `require` and `module` are given. */
  code: string;
}

/** What a module becomes: a function's body, to which `require` is given. */
export const asFunction = {
  format: "cjs",
  supported: { "dynamic-import": false },
} satisfies TransformOptions;

/**
 * esbuild puts a second getter in front of each export's own. It is one function for all of them, through which the engine
 * cannot see what is called: each call from one chunk into another would look its function up by name.
 */
function withDirectGetters(code: string): string {
  const second =
    /__copyProps\((\s*__defProp\(\{\},\s*"__esModule",\s*\{\s*value:\s*!0\s*\}\)),\s*mod\)/;
  if (code.includes("__toCommonJS") && !second.test(code))
    throw new Error("esbuild writes exports in another way now");
  return code.replace(second, "Object.defineProperties($1,Object.getOwnPropertyDescriptors(mod))");
}

/**
 * Of what was built with `splitting` and `metafile`. A chunk also imports all those from which its modules could have
 * imported something: this is left out, since no module does anything by being imported alone.
 */
export async function chunksOf({ outputFiles = [], metafile }: BuildResult): Promise<Chunk[]> {
  const entries = new Map(
    Object.entries(metafile?.outputs ?? {}).map(([path, { entryPoint }]) => [
      basename(path),
      entryPoint,
    ]),
  );
  return Promise.all(
    outputFiles.map(async ({ path, text }) => {
      const needed = text.replace(/import"\.\/[\w-]+\.js";/g, "");
      const { code: given } = await transform(needed, { ...common, ...asFunction });
      const code = withDirectGetters(given);
      const needs = [...needed.matchAll(/from"(\.\/[\w-]+\.js)"/g)].map(([, name = ""]) => name);
      return { name: `./${basename(path)}`, entry: entries.get(basename(path)) ?? "", needs, code };
    }),
  );
}

/** The chunks of these entries, with all that they need before they first wait for something. */
export function withNeeds(chunks: readonly Chunk[], isEntry: (entry: string) => boolean): Chunk[] {
  const found = new Set(chunks.filter(({ entry }) => isEntry(entry)));
  // A set's walk comes to what is added meanwhile.
  for (const { needs } of found)
    for (const chunk of chunks) if (needs.includes(chunk.name)) found.add(chunk);
  return [...found];
}

/** The text of a file with chunks, and how they are run: see `kernel/launcher.ts`. */
export function textOf(chunks: readonly Chunk[]): string {
  const functions = chunks.map(
    ({ name, code }) => `${JSON.stringify(name)}(exports, require, module) {${code}}`,
  );
  return `(function (__filename, __dirname, __url) {
let chunks = {
${functions.join(",\n")}
};
return { chunks, run };${run}
})`;
}

/** A chunk requires others, or what Node would; where these are not all, the rest is asked for. */
const run = `
function run(require, all) {
  const loaded = new Map();
  load("./main.js");
  function load(id) {
    if (!id.startsWith("./")) return require(id);
    const known = loaded.get(id);
    if (known) return known.exports;
    if (!Object.hasOwn(chunks, id)) chunks = all();
    const module = { exports: {} };
    loaded.set(id, module);
    try {
      chunks[id](module.exports, load, module);
    } catch (error) {
      loaded.delete(id);
      throw error;
    }
    return module.exports;
  }
}`;
