/** Plugins' sections of the configuration. */
import { Type } from "@sinclair/typebox";
import type {
  ConfigOf,
  ConfigSchemas,
  Dispose,
  PluginDefinition,
} from "../../../contract/index.ts";
import { isAtOrBelow } from "../../../text/key-path.ts";
import type { PluginCandidate } from "./candidate.ts";
import type { LoadCheck } from "../../../config/sections.ts";
import type { PluginParts } from "./context.ts";
import { checkOf } from "./declared.ts";

interface Defined {
  schemas: ConfigSchemas;
  check: LoadCheck | undefined;
  undo: Dispose;
}

/** One object for all scans: a new definition would cause a check of the whole configuration. */
const none: ConfigSchemas = {};

/** Registers the sections of every plugin with the configuration, running or not. */
export function createSections({ config, log }: Pick<PluginParts, "config" | "log">) {
  /** By the directory that owns them. */
  const defined = new Map<string, Defined>();
  let scans = 0;

  function defineOne(candidate: PluginCandidate, all: readonly PluginCandidate[]): void {
    const { dir, meta, refused, name } = candidate;
    const before = defined.get(dir);
    // A version that does not load leaves the sections as they were; without any, its own must not be an unknown key.
    if (!meta && before && !refused) return;
    const schemas = meta ? (meta.config ?? none) : { [name]: Type.Optional(Type.Any()) };
    const check = checkOf(candidate, all);
    if (before?.schemas === schemas && before.check === check) return;
    void before?.undo();
    defined.set(dir, { schemas, check, undo: config.define(dir, schemas, check) });
  }

  return {
    define(candidates: readonly PluginCandidate[]): void {
      const dirs = new Set(candidates.map(({ dir }) => dir));
      for (const [dir, { undo }] of defined) {
        if (dirs.has(dir)) continue;
        void undo();
        defined.delete(dir);
      }
      for (const candidate of candidates) defineOne(candidate, candidates);
      // During a start, the gateway checks the configuration itself.
      if (scans++ === 0) return;
      try {
        config.check();
      } catch (error) {
        // One that lost its plugin, or does not fit the new one, must not keep the others from running.
        log.warn(
          { err: error },
          `the configuration does not match the schemas of the plugins: ${(error as Error).message}`,
        );
      }
    },
  };
}

/** What `setup` gets: each section by its path. Those of a map (`channels.*`) have no value of their own. */
export function sectionsOf(
  definition: PluginDefinition,
  section: (path: string) => unknown,
): ConfigOf<ConfigSchemas> {
  const paths = Object.keys(definition.config ?? {});
  return Object.fromEntries(
    paths.map((path) => [path, path.slice(0, -1).includes("*") ? undefined : section(path)]),
  );
}

/** True where a change of these keys touches a section of the plugin. */
export function isConcerned(definition: PluginDefinition, keys: readonly string[]): boolean {
  const sections = Object.keys(definition.config ?? {}).map((path) => path.replace(/\.?\*.*$/, ""));
  return sections.some((section) =>
    keys.some((key) => isAtOrBelow(key, section) || isAtOrBelow(section, key)),
  );
}
