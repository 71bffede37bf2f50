/** The configuration of a home in the words of the command line: keys as `a.b[0]`, values as JSON5 or text. */
import { takesEffectAtNextStart } from "../config/compose.ts";
import type { ConfigStore } from "../config/config.ts";
import { ConfigError, problemText } from "../config/error.ts";
import { explainUnknown } from "../config/evaluate.ts";
import { parse, plainValue, SyntaxFault } from "../config/json5/parse.ts";
import { maskSecrets } from "../config/secrets.ts";
import { type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import type { Dispose } from "../types.ts";
import type { ConfigFile } from "../contract/commands.ts";

export function configFileOf(config: ConfigStore): ConfigFile {
  const masked = (value: unknown, path: KeyPath) => maskSecrets(value, config.composed, path);
  const refuseUnknown = (path: KeyPath) => {
    const unknown = explainUnknown(path, config.composed);
    if (unknown)
      throw new Error(`${problemText(unknown)}${unknown.nearest === undefined ? ". See portico config schema." : ""}`);
  };
  return {
    file: config.file,
    get current() {
      return config.current;
    },
    get schema() {
      return config.composed;
    },
    check: () => config.check(),
    get(key, reveal) {
      const path = key === undefined ? [] : parseKeyPath(key);
      const value = valueAt(config.current, path);
      if (value === undefined) refuseUnknown(path);
      return reveal ? value : masked(value, path);
    },
    async set(key, words) {
      const path = parseKeyPath(key);
      const undo = await setWords(config, path, words);
      const written = masked(valueAt(config.raw, path), path);
      return { undo, written, atNextStart: takesEffectAtNextStart(config.composed, path) };
    },
    async unset(key) {
      const path = parseKeyPath(key);
      const undo = await config.unset(path);
      if (!undo) refuseUnknown(path);
      return undo;
    },
  };
}

// `config set gateway.auth.token 12345` means the text "12345": where the value does not fit but the words do, they count.
async function setWords(config: ConfigStore, path: KeyPath, words: string): Promise<Dispose | undefined> {
  const value = readValue(words);
  try {
    return await config.set(path, value);
  } catch (error) {
    if (typeof value === "string" || typeof value === "object" || !(error instanceof ConfigError)) throw error;
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
