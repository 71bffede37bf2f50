/**
 * The configuration of a home, or another file, in the words of the command line: keys as `a.b[0]`, values as JSON5 or
 * text. It is checked against the sections of all plugins that its home would load; a key that nobody knows is refused
 * with the one that was probably meant.
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

  /** What it says, with defaults. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#config.current;
  }

  /** All sections together. */
  get schema(): TSchema {
    return this.#config.composed;
  }

  /** Everything for which a gateway would refuse to start, or leave a part of it out. */
  problems(): Promise<ConfigProblem[]> {
    return this.#config.problems();
  }

  /** False where a gateway would not start with it: what it says cannot be gone by. */
  isLoadable(): boolean {
    try {
      this.#config.check();
      return true;
    } catch {
      return false;
    }
  }

  /** Throws a `config_error` whose `details.problems` are a `ConfigProblem` each. */
  async check(): Promise<void> {
    const problems = await this.problems();
    if (problems.length > 0) throw new ConfigError(problems);
  }

  /** One key, or everything; secrets as `********` unless they are to be revealed. */
  get(key?: string, reveal?: boolean): unknown {
    const path = key === undefined ? [] : parseKeyPath(key);
    const value = valueAt(this.#config.current, path);
    if (value === undefined) this.#refuseUnknown(path);
    return reveal ? value : this.#masked(value, path);
  }

  /** Writes a key: words that are JSON5 as what they mean, others as text. A value that would not load is refused. */
  async set(key: string, words: string, how: WriteHow = {}) {
    const path = parseKeyPath(key);
    const written = await setWords(words, (value) => this.#change({ path, value }, how));
    return { ...written, value: this.#masked(valueAt(this.#config.raw, path), path) };
  }

  /** Removes a key; nothing has changed where it was not there. */
  async unset(key: string, how: WriteHow = {}): Promise<ConfigWritten> {
    const path = parseKeyPath(key);
    const written = await this.#change({ path, remove: true }, how);
    if (written.changes.length === 0) this.#refuseUnknown(path);
    return written;
  }

  /** The kept versions, oldest first. */
  versions(): Promise<VersionInfo[]> {
    return this.#config.versions();
  }

  differences(from?: number, to?: number): Promise<ConfigDifference[]> {
    return this.#config.differences(from, to);
  }

  /** Brings back the version before the latest change, or the one with the id. */
  restore(id: number | undefined, how: WriteHow = {}): Promise<ConfigWritten> {
    return this.#config.restore(id, { ...how, origin: COMMAND_LINE });
  }

  /** What the file says, without defaults. It holds the file's secrets. */
  get written(): Readonly<Record<string, unknown>> {
    return this.#config.raw;
  }

  /** What the file says, for another gateway: without secrets. */
  exported(): PortableConfig & { version: string } {
    return this.#config.exported();
  }

  /** Makes the file say what an exported configuration says; its secrets stay. */
  async import(configuration: Readonly<Record<string, unknown>>, how: WriteHow = {}) {
    const expected = [await this.#config.version()];
    return this.#config.import(configuration, { ...how, expected, origin: COMMAND_LINE });
  }

  #change(edit: ConfigEdit, how: WriteHow): Promise<ConfigWritten> {
    return this.#config.change([edit], { ...how, origin: COMMAND_LINE, mayRemoveMaps: true });
  }

  #masked(value: unknown, path: KeyPath): unknown {
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
 * Writes what the words mean. `config set gateway.auth.token 12345` means the text "12345": where the value does not fit
 * but the words do, they count.
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

/** Words that are no JSON5 are text. */
export function readValue(words: string): unknown {
  try {
    return plainValue(parse(words));
  } catch (error) {
    if (error instanceof SyntaxFault) return words;
    throw error;
  }
}
