/** The modules that the build has bundled into the program. Empty when the program runs from its sources. */

/** Plugins, their faces, and the handlers of hooks, by path below the package. Each is evaluated at its first use. */
export const builtIn: ReadonlyMap<string, () => Promise<Record<string, unknown>>> = new Map();
