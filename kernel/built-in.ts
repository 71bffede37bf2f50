/** The modules that the build has bundled into the program. Empty when the program runs from its sources. */

/** By path below the package: plugins, their faces, and the handlers of hooks. Evaluated when first asked for. */
export const builtIn: ReadonlyMap<string, () => Promise<Record<string, unknown>>> = new Map();
