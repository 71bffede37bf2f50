/** The package's own modules, as the build has put them into the program; none where it runs from its sources. */

/** By path below the package: plugins, their faces, and the handlers of hooks. Evaluated when first asked for. */
export const builtIn: ReadonlyMap<string, () => Promise<Record<string, unknown>>> = new Map();
