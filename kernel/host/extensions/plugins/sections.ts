/** Defines the configuration sections of plugins. */
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
import { findCheck } from "./declared.ts";

interface RegisteredSections {
  schemas: ConfigSchemas;
  check: LoadCheck | undefined;
  undo: Dispose;
}

/** One object for all scans, because a new definition would cause a check of the whole configuration. */
const NO_SCHEMAS: ConfigSchemas = {};

/** Registers the sections of every plugin with the configuration, running or not. */
export function createSections({ config, log }: Pick<PluginParts, "config" | "log">) {
  /** The registered sections by the directory of their plugin. */
  const sectionsByDir = new Map<string, RegisteredSections>();
  let scans = 0;

  function defineSections(candidate: PluginCandidate, all: readonly PluginCandidate[]): void {
    const { dir, meta, refused, name } = candidate;
    const previous = sectionsByDir.get(dir);
    // A version that does not load keeps the existing sections. A plugin without any gets one for its name, which would
    // otherwise be an unknown key.
    if (!meta && previous && !refused) return;
    const schemas = meta ? (meta.config ?? NO_SCHEMAS) : { [name]: Type.Optional(Type.Any()) };
    const check = findCheck(candidate, all);
    if (previous?.schemas === schemas && previous.check === check) return;
    void previous?.undo();
    sectionsByDir.set(dir, { schemas, check, undo: config.define(dir, schemas, check) });
  }

  return {
    define(candidates: readonly PluginCandidate[]): void {
      const dirs = new Set(candidates.map(({ dir }) => dir));
      for (const [dir, { undo }] of sectionsByDir) {
        if (dirs.has(dir)) continue;
        void undo();
        sectionsByDir.delete(dir);
      }
      for (const candidate of candidates) defineSections(candidate, candidates);
      // During a start, the gateway checks the configuration itself.
      if (scans++ === 0) return;
      try {
        config.check();
      } catch (error) {
        // A section that lost its plugin, or violates the new schema, must not keep the other plugins from running.
        log.warn(
          { err: error },
          `the configuration does not match the schemas of the plugins: ${(error as Error).message}`,
        );
      }
    },
  };
}

/**
 * Returns the configuration that `setup` receives: each section by its path. Sections of a map (`channels.*`) have no
 * value of their own.
 */
export function readSections(
  definition: PluginDefinition,
  section: (path: string) => unknown,
): ConfigOf<ConfigSchemas> {
  const paths = Object.keys(definition.config ?? {});
  return Object.fromEntries(
    paths.map((path) => [path, path.slice(0, -1).includes("*") ? undefined : section(path)]),
  );
}

/** Whether a change of these keys affects a section of the plugin. */
export function isAffected(definition: PluginDefinition, keys: readonly string[]): boolean {
  const sections = Object.keys(definition.config ?? {}).map((path) => path.replace(/\.?\*.*$/, ""));
  return sections.some((section) =>
    keys.some((key) => isAtOrBelow(key, section) || isAtOrBelow(section, key)),
  );
}
