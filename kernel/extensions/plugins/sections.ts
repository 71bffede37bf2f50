/** A plugin's sections of the configuration. */
import type { ConfigOf, ConfigSchemas, PluginDefinition } from "../../types.ts";

/** What `setup` gets: each section by its path. Those of a map (`channels.*`) have no value of their own. */
export function sectionsOf(definition: PluginDefinition, section: (path: string) => unknown): ConfigOf<ConfigSchemas> {
  const paths = Object.keys(definition.config ?? {});
  return Object.fromEntries(paths.map((path) => [path, path.slice(0, -1).includes("*") ? undefined : section(path)]));
}

/** True where a change of these keys touches a section of the plugin. */
export function isConcerned(definition: PluginDefinition, keys: readonly string[]): boolean {
  return Object.keys(definition.config ?? {}).some((path) => keys.some((key) => overlaps(path, key)));
}

/** True when a changed key lies in a section, or a section below the key. */
function overlaps(path: string, key: string): boolean {
  const section = path.replace(/\.?\*.*$/, "");
  return key === section || isBelow(key, section) || isBelow(section, key);
}

/** `channels["a.b"]` is below `channels` as `channels.a` is. */
function isBelow(key: string, above: string): boolean {
  return key.startsWith(above) && /^[.[]/.test(key.slice(above.length));
}
