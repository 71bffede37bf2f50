/** The modules that `setup` uses, in one file of the build: a start reads it faster than a file for each module. */
export { presets } from "./presets.ts";
export { openaiProvider } from "./wire.ts";
