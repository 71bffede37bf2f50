/**
 * The last versions of the configuration file, with the author, time and origin of each, in the home's state. They hold
 * the file's secrets, so only the owner may read the history (0600).
 */
import { join } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { sha } from "../files/sha.ts";
import { isRecord } from "../text/key-path.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import { findDifferences } from "./differences.ts";
import { editFile, readText } from "./file.ts";
import { isBlank, parse, plainValue } from "./json5/parse.ts";
import type { ChangeOrigin } from "../contract/changes.ts";

const MAX_VERSIONS = 20;
const MAX_KEYS = 50;

export interface ConfigVersion extends ChangeOrigin {
  /** Counts up from 1. */
  id: number;
  /** Identifies the content: equal texts have equal versions. */
  version: string;
  /** ISO 8601. */
  at: string;
  /** The keys that differ from the version before. */
  keys: string[];
  /** The id of the version whose content this one restored. */
  restored?: number;
  text: string;
}

/** The properties of a version, without its text. */
export interface VersionNote extends ChangeOrigin {
  at?: Date | undefined;
  restored?: number | undefined;
}

/** Identifies a text of the configuration file. It is the entity tag over HTTP. */
export const computeVersion = (text: string | undefined): string => sha(text ?? "").slice(0, 16);

/** Returns the path of the history of a configuration file. A file outside the home has a separate history. */
export function historyFileFor(home: string, state: string, config: string): string {
  const isOwn = config === join(home, "portico.json");
  return join(
    state,
    isOwn ? "config-history.json" : `config-history-${sha(config).slice(0, 8)}.json`,
  );
}

export class ConfigHistory {
  readonly #file: string;
  readonly #schema: () => TSchema;

  /** `schema` distinguishes entries of maps from keys of sections. */
  constructor(file: string, schema: () => TSchema) {
    this.#file = file;
    this.#schema = schema;
  }

  /** Returns the versions, oldest first. A damaged history counts as empty. */
  async list(): Promise<ConfigVersion[]> {
    return parseVersions(await readText(this.#file));
  }

  /** Adds a text unless it already is the latest. Resolves to the id of its version. */
  async add(text: string, note: VersionNote): Promise<number> {
    let id = 0;
    await editFile(this.#file, async (stored) => {
      const versions = parseVersions(stored);
      const latest = versions.at(-1);
      id = latest?.id ?? 0;
      if (latest?.text === text) return undefined;
      id += 1;
      const { at = new Date(), ...origin } = note;
      const changes = latest ? compareTexts(latest.text, text, this.#schema()) : [];
      const keys = changes.map(({ key }) => key).slice(0, MAX_KEYS);
      const added = {
        id,
        version: computeVersion(text),
        at: at.toISOString(),
        ...origin,
        keys,
        text,
      };
      return JSON.stringify([...versions, added].slice(-MAX_VERSIONS));
    });
    return id;
  }

  /** Removes a version whose write was undone. */
  async drop(id: number): Promise<void> {
    await editFile(this.#file, async (stored) => {
      const versions = parseVersions(stored);
      const remaining = versions.filter((version) => version.id !== id);
      return remaining.length === versions.length ? undefined : JSON.stringify(remaining);
    });
  }
}

/**
 * Returns the version that an undo restores: the one before the latest change. Undoing an undo goes further back
 * instead of returning to the undone version, so that repeated undos walk through the history.
 */
export function findUndoTarget(versions: readonly ConfigVersion[]): ConfigVersion | undefined {
  let at = versions.length - 1;
  for (;;) {
    const restored = versions[at]?.restored;
    if (restored === undefined) return versions[at - 1];
    const source = versions.findIndex(({ id }) => id === restored);
    if (source === -1) return undefined;
    at = source;
  }
}

function parseVersions(stored: string | undefined): ConfigVersion[] {
  try {
    const value: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(value) ? value.filter(isVersion) : [];
  } catch {
    return [];
  }
}

function isVersion(value: unknown): value is ConfigVersion {
  return isRecord(value) && typeof value["id"] === "number" && typeof value["text"] === "string";
}

/** Returns the differences between two texts; none if one is invalid. */
export function compareTexts(before: string, after: string, schema: TSchema): ConfigDifference[] {
  const [previous, next] = [parseContent(before), parseContent(after)];
  return previous && next ? findDifferences(previous, next, schema) : [];
}

/** Parses a text; undefined if it is not a JSON5 object. */
export function parseContent(text: string): Record<string, unknown> | undefined {
  try {
    const value = isBlank(text) ? {} : plainValue(parse(text));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
