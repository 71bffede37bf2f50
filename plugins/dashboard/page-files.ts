/** The files of the page, and those of the libraries that it uses. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { openStaticFiles, type StaticFiles } from "portico/static-files";

/** Where the page finds each library, below its own files. */
const LIBRARIES: Readonly<Record<string, (require: NodeJS.Require) => string>> = {
  marked: (require) => require.resolve("marked"),
  uplot: (require) => require.resolve("uplot/dist/uPlot.iife.min.js"),
};

interface Directories {
  pluginDir: string;
  packageDir: string;
}

/** uPlot's module is not minified, and its minified script is no module: an export makes it one. */
const ENDINGS = { "uPlot.iife.min.js": "\nexport default uPlot;\n" };

/**
 * Opens the files that browsers load. The built program has a smaller copy of them; a gateway that runs from the sources
 * serves these, so that a change of them shows at once.
 */
export function openPageFiles({ pluginDir, packageDir }: Directories): StaticFiles {
  const outdir = join(packageDir, ".build");
  const isBuilt = import.meta.dirname === outdir;
  const page = openStaticFiles(join(isBuilt ? outdir : pluginDir, "page"));
  // The package is found from the plugin's directory: the running program is bundled elsewhere.
  const require = createRequire(join(pluginDir, "plugin.ts"));
  const libraries = new Map<string, StaticFiles>();

  /** A library is read when the page first asks for it. */
  function filesOf(name: string): StaticFiles | undefined {
    const known = libraries.get(name);
    if (known !== undefined) return known;
    const resolve = Object.hasOwn(LIBRARIES, name) ? LIBRARIES[name] : undefined;
    if (resolve === undefined) return undefined;
    const files = openStaticFiles(dirname(resolve(require)), { endings: ENDINGS });
    libraries.set(name, files);
    return files;
  }

  return {
    answer(name, request) {
      const [directory = "", ...rest] = name.split("/");
      const library = rest.length > 0 ? filesOf(directory) : undefined;
      return library ? library.answer(rest.join("/"), request) : page.answer(name, request);
    },
  };
}
