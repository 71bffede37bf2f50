/**
 * The configuration of a home, or another file, in the words of the command line: keys as `a.b[0]`, values as JSON5 or
 * text. It is checked against the sections of all plugins that its home would load; a key that nobody knows is refused
 * with the one that was probably meant.
 */
import type { TSchema } from "@sinclair/typebox";
import { takesEffectAtNextStart } from "../config/compose.ts";
import type { ConfigStore } from "../config/config.ts";
import { ConfigError, problemText } from "../config/error.ts";
import { explainUnknown } from "../config/evaluate.ts";
import { parse, plainValue, SyntaxFault } from "../config/json5/parse.ts";
import { maskSecrets } from "../config/secrets.ts";
import { type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import type { Dispose } from "../types.ts";

export function configFileOf(config: ConfigStore) {
  const masked = (value: unknown, path: KeyPath) => maskSecrets(value, config.composed, path);
  const refuseUnknown = (path: KeyPath) => {
    const unknown = explainUnknown(path, config.composed);
    if (unknown)
      throw new Error(
        `${problemText(unknown)}${unknown.nearest === undefined ? ". See portico config schema." : ""}`,
      );
  };
  return {
    file: config.file,
    /** What it says, with defaults. */
    get current(): Readonly<Record<string, unknown>> {
      return config.current;
    },
    /** All sections together. */
    get schema(): TSchema {
      return config.composed;
    },
    /** Throws a `config_error` whose `details.problems` are a `ConfigProblem` each. */
    check: (): void => config.check(),
    /** One key, or everything; secrets as `********` unless they are to be revealed. */
    get(key?: string, reveal?: boolean): unknown {
      const path = key === undefined ? [] : parseKeyPath(key);
      const value = valueAt(config.current, path);
      if (value === undefined) refuseUnknown(path);
      return reveal ? value : masked(value, path);
    },
    /** Writes a key: words that are JSON5 as what they mean, others as text. A value that would not load is refused. */
    async set(key: string, words: string) {
      const path = parseKeyPath(key);
      const undo = await setWords(config, path, words);
      const written = masked(valueAt(config.raw, path), path);
      return { undo, written, atNextStart: takesEffectAtNextStart(config.composed, path) };
    },
    /** Removes a key; resolves with the undo, undefined where it was not there. */
    async unset(key: string): Promise<Dispose | undefined> {
      const path = parseKeyPath(key);
      const undo = await config.unset(path);
      if (!undo) refuseUnknown(path);
      return undo;
    },
  };
}
export type ConfigFile = ReturnType<typeof configFileOf>;

// `config set gateway.auth.token 12345` means the text "12345": where the value does not fit but the words do, they count.
async function setWords(
  config: ConfigStore,
  path: KeyPath,
  words: string,
): Promise<Dispose | undefined> {
  const value = readValue(words);
  try {
    return await config.set(path, value);
  } catch (error) {
    if (typeof value === "string" || typeof value === "object" || !(error instanceof ConfigError))
      throw error;
    return config.set(path, words).catch(() => {
      throw error;
    });
  }
}

function readValue(words: string): unknown {
  try {
    return plainValue(parse(words));
  } catch (error) {
    if (error instanceof SyntaxFault) return words;
    throw error;
  }
}
