/**
 * The configuration of a home, or another file, in the notation of the command line: keys as `a.b[0]`, values as JSON5
 * or text. It is checked against the sections of all plugins that the home would load. An unknown key is refused with
 * the key that was probably meant.
 */
import type { TSchema } from "@sinclair/typebox";
import type { ConfigStore } from "../config/config.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import type { ConfigEdit } from "../config/edits.ts";
import { ConfigError, type ConfigProblem, problemText } from "../config/config-error.ts";
import { explainUnknown } from "../config/evaluate.ts";
import { parse, plainValue, SyntaxFault } from "../config/json5/parse.ts";
import type { PortableConfig } from "../config/portable.ts";
import type { ChangeOrigin } from "../contract/changes.ts";
import { maskSecrets } from "../config/secrets.ts";
import type { VersionInfo } from "../config/versions.ts";
import type { ConfigWritten, WriteOptions } from "../config/write.ts";
import { type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";

const COMMAND_LINE: ChangeOrigin = { principal: "owner", via: "command line" };

type WriteHow = Pick<WriteOptions, "dryRun">;

export class ConfigFile {
  readonly #config: ConfigStore;

  constructor(config: ConfigStore) {
    this.#config = config;
  }

  get file(): string {
    return this.#config.file;
  }

  /** The configuration with defaults. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#config.current;
  }

  /** The schema of all sections together. */
  get schema(): TSchema {
    return this.#config.composed;
  }

  /** Returns all problems for which a gateway would refuse to start or leave a part of the file out. */
  problems(): Promise<ConfigProblem[]> {
    return this.#config.problems();
  }

  /** Whether a gateway would start with the file. If not, its values cannot be relied on. */
  isLoadable(): boolean {
    try {
      this.#config.check();
      return true;
    } catch {
      return false;
    }
  }

  /** Throws a `config_error` if there are problems; its `details.problems` is a list of `ConfigProblem`. */
  async check(): Promise<void> {
    const problems = await this.problems();
    if (problems.length > 0) throw new ConfigError(problems);
  }

  /** Returns the value of a key, or everything. Secrets are `********` unless `reveal` is true. */
  get(key?: string, reveal?: boolean): unknown {
    const path = key === undefined ? [] : parseKeyPath(key);
    const value = valueAt(this.#config.current, path);
    if (value === undefined) this.#refuseUnknown(path);
    return reveal ? value : this.#mask(value, path);
  }

  /** Writes a key. `words` is JSON5 or text. Throws if the configuration would not load with the value. */
  async set(key: string, words: string, options: WriteHow = {}) {
    const path = parseKeyPath(key);
    const result = await setWords(words, (value) => this.#change({ path, value }, options));
    return { ...result, value: this.#mask(valueAt(this.#config.raw, path), path) };
  }

  /** Removes a key. A missing key changes nothing; an unknown one throws. */
  async unset(key: string, options: WriteHow = {}): Promise<ConfigWritten> {
    const path = parseKeyPath(key);
    const result = await this.#change({ path, remove: true }, options);
    if (result.changes.length === 0) this.#refuseUnknown(path);
    return result;
  }

  /** Returns the stored versions, oldest first. */
  versions(): Promise<VersionInfo[]> {
    return this.#config.versions();
  }

  differences(from?: number, to?: number): Promise<ConfigDifference[]> {
    return this.#config.differences(from, to);
  }

  /** Restores the version before the latest change, or the one with the id. */
  restore(id: number | undefined, options: WriteHow = {}): Promise<ConfigWritten> {
    return this.#config.restore(id, { ...options, origin: COMMAND_LINE });
  }

  /** The content of the file, without defaults but with its secrets. */
  get written(): Readonly<Record<string, unknown>> {
    return this.#config.raw;
  }

  /** Returns the content of the file without secrets, for another gateway. */
  exported(): PortableConfig & { version: string } {
    return this.#config.exported();
  }

  /** Replaces the content of the file by an exported configuration. The file's secrets stay. */
  async import(configuration: Readonly<Record<string, unknown>>, options: WriteHow = {}) {
    const expected = [await this.#config.version()];
    return this.#config.import(configuration, { ...options, expected, origin: COMMAND_LINE });
  }

  #change(edit: ConfigEdit, options: WriteHow): Promise<ConfigWritten> {
    return this.#config.change([edit], { ...options, origin: COMMAND_LINE, mayRemoveMaps: true });
  }

  #mask(value: unknown, path: KeyPath): unknown {
    return maskSecrets(value, this.#config.composed, path);
  }

  #refuseUnknown(path: KeyPath): void {
    const unknown = explainUnknown(path, this.#config.composed);
    if (!unknown) return;
    const hint = unknown.nearest === undefined ? ". See portico config schema." : "";
    throw new Error(`${problemText(unknown)}${hint}`);
  }
}

/**
 * Writes the value that the words mean as JSON5. If it is invalid but the words as text are not, writes the text:
 * `config set gateway.auth.token 12345` means the text "12345".
 */
async function setWords<T>(words: string, write: (value: unknown) => Promise<T>): Promise<T> {
  const value = readValue(words);
  try {
    return await write(value);
  } catch (error) {
    if (typeof value === "string" || typeof value === "object" || !(error instanceof ConfigError))
      throw error;
    return write(words).catch(() => {
      throw error;
    });
  }
}

/** Parses words as JSON5; words that are not JSON5 are text. */
export function readValue(words: string): unknown {
  try {
    return plainValue(parse(words));
  } catch (error) {
    if (error instanceof SyntaxFault) return words;
    throw error;
  }
}
