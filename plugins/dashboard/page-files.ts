/** Serves the files of the page, and those of the libraries that it uses. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { openStaticFiles, type StaticFiles } from "portico/static-files";

/** The libraries by the directory under which the page finds them. */
const LIBRARIES: Readonly<Record<string, (require: NodeJS.Require) => string>> = {
  marked: (require) => require.resolve("marked"),
  uplot: (require) => require.resolve("uplot/dist/uPlot.iife.min.js"),
};

interface Directories {
  pluginDir: string;
  packageDir: string;
}

/** Only uPlot's script is minified, and it is no module. An added export makes it one. */
const ENDINGS = { "uPlot.iife.min.js": "\nexport default uPlot;\n" };

/**
 * Opens the files that browsers load. The built program has a smaller copy of them; a gateway that runs from the sources
 * serves these, so that a change of them shows at once.
 */
export function openPageFiles({ pluginDir, packageDir }: Directories): StaticFiles {
  const outdir = join(packageDir, ".build");
  const isBuilt = import.meta.dirname === outdir;
  const page = openStaticFiles(join(isBuilt ? outdir : pluginDir, "page"));
  // Packages are resolved from the plugin's directory, since the running program is bundled elsewhere.
  const require = createRequire(join(pluginDir, "plugin.ts"));
  const libraries = new Map<string, StaticFiles>();

  /** Opens a library when the page first requests it. */
  function filesOf(name: string): StaticFiles | undefined {
    const opened = libraries.get(name);
    if (opened !== undefined) return opened;
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
