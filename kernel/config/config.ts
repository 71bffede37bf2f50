/**
 * The configuration of one file, as the rest of the gateway uses it. Each duty is a part of its own: `active.ts` holds
 * what is active, `validate.ts` judges it, `write.ts` changes the file, `follow.ts` applies what changed on disk,
 * `versions.ts` knows what the file said before, and `portable.ts` takes it to another gateway.
 */
import { basename } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import type { ConfigDifference } from "../contract/changes.ts";
import type { ConfigSchemas, Dispose, Logger } from "../contract/index.ts";
import { type KeyPath, toKeyPath } from "../text/key-path.ts";
import { createTurns } from "../timing/in-turn.ts";
import { ActiveConfig } from "./active.ts";
import type { ConfigProblem } from "./config-error.ts";
import type { OnChange } from "./diff.ts";
import type { ConfigEdit } from "./edits.ts";
import type { Environment } from "./environment.ts";
import { ConfigFollower, type FileProblem } from "./follow.ts";
import { versionOf } from "./history.ts";
import { editsForImport, type PortableConfig, withoutSecretValues } from "./portable.ts";
import { type ConfigOptions, idOf, read, type Source, sourceOf } from "./read.ts";
import type { KernelConfig } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import { type LoadCheck, SectionRegistry } from "./sections.ts";
import { ConfigValidator } from "./validate.ts";
import { ConfigVersions, type VersionInfo } from "./versions.ts";
import { type ConfigWritten, ConfigWriter, type WriteOptions } from "./write.ts";

/** Reads the file. Throws a `ConfigError` where it is not JSON5; `check` says whether its content is right. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  return new ConfigStore(options, await sourceOf(options));
}

export class ConfigStore {
  readonly file: string;
  readonly #options: ConfigOptions;
  readonly #sections = new SectionRegistry();
  readonly #active: ActiveConfig;
  readonly #validator: ConfigValidator;
  readonly #versions: ConfigVersions;
  readonly #follower: ConfigFollower;
  readonly #writer: ConfigWriter;

  constructor(options: ConfigOptions, source: Source) {
    this.file = options.file;
    this.#options = options;
    this.#active = new ActiveConfig(read(source, options), this.#sections);
    this.#versions = new ConfigVersions(options, this.#sections);
    const shared = { name: basename(options.file), sections: this.#sections };
    const inTurn = createTurns();
    this.#validator = new ConfigValidator({
      ...shared,
      active: this.#active,
      surroundings: options,
    });
    this.#follower = new ConfigFollower({
      ...shared,
      options,
      inTurn,
      active: this.#active,
      versions: this.#versions,
    });
    this.#writer = new ConfigWriter({
      ...shared,
      options,
      inTurn,
      history: this.#versions.history,
      apply: (reading) => this.#follower.takeWritten(reading),
      reapply: () => this.#follower.takeFromDisk(),
    });
  }

  // What is active

  /** The variables that references are looked up in. */
  get env(): Environment {
    return this.#active.reading.env;
  }

  /** Everything active with its defaults; frozen, and replaced as a whole by a change. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#active.evaluated.value;
  }

  /** The kernel's own sections of `current`. */
  get kernel(): Readonly<KernelConfig> {
    return this.current as typeof this.current & KernelConfig;
  }

  /** The content of the active file: without defaults, and with references unresolved. */
  get raw(): Readonly<Record<string, unknown>> {
    return this.#active.reading.raw;
  }

  /** The secrets that are active, for redaction. */
  secrets(): string[] {
    return secretsIn(this.current, this.composed);
  }

  /** Names the active state of the files, for the processes that share them. */
  get id(): string {
    return idOf(this.#active.reading.source);
  }

  // Schemas and validation

  /** Adds the sections of an owner: path → schema, `*` for any key of a map. Undone by the result. */
  define(owner: string, schemas: ConfigSchemas, check?: LoadCheck): Dispose {
    return this.#sections.define({ name: owner, schemas, check });
  }

  /** All sections together, as a TypeBox schema. */
  get composed(): TSchema {
    return this.#sections.composed;
  }

  /** Throws a `ConfigError` that names everything in what is active that breaks the schemas. */
  readonly check = (): void => this.#validator.check();

  /** A section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section alone. */
  readonly section = (path: string): unknown => this.#validator.section(path);

  /** Everything that is wrong with what is active: by the schemas, and by the owners' checks. */
  problems(): Promise<ConfigProblem[]> {
    return this.#validator.problems();
  }

  /** What a gateway leaves out of what is active, by the owners' checks. */
  leftOut(): Promise<ConfigProblem[]> {
    return this.#validator.leftOut();
  }

  // Changes that are made through the gateway

  /**
   * Changes keys in the file, atomically and with mode 0600; comments, order and references of the file stay. Throws a
   * `ConfigError`, and writes nothing, if the result would be invalid; throws `config_error`, and undoes the write,
   * if a plugin or a worker refuses it. Once this has resolved, the change is active.
   */
  change(edits: readonly ConfigEdit[], options: WriteOptions = {}): Promise<ConfigWritten> {
    return this.#writer.write({ edits }, options);
  }

  /** Writes one key; see `change`. Resolves with the undo, undefined where nothing had to be written. */
  async set(path: string | KeyPath, value: unknown): Promise<Dispose | undefined> {
    const { undo } = await this.change([{ path: toKeyPath(path), value }]);
    return undo;
  }

  /** Removes one key, so that its default is active; resolves with the undo, or with undefined if the key was not set. */
  async unset(path: string | KeyPath): Promise<Dispose | undefined> {
    const edits = [{ path: toKeyPath(path), remove: true as const }];
    const { undo } = await this.change(edits, { mayRemoveMaps: true });
    return undo;
  }

  // Changes on disk

  /** Why the file on disk is not active, while the last good configuration is. */
  get problem(): FileProblem | undefined {
    return this.#follower.problem;
  }

  /** Applies the file now, instead of when the watcher sees that it changed; `problem` says what is wrong with it. */
  refresh(): Promise<void> {
    return this.#follower.refresh();
  }

  /**
   * Applies the file whenever it changes; what is wrong with it is logged. During `onChange`, `current` already is the
   * new one; when it throws, the previous one is back and `onChange` is called once more, with `back`. It must not wait
   * for a change of its own, which waits for its turn behind it.
   */
  watch(onChange: OnChange, log?: Logger): Promise<Dispose> {
    return this.#follower.watch(onChange, log);
  }

  /** Changed keys that wait for the next start of the gateway that follows the file. */
  awaitingStart(): string[] {
    return this.#follower.awaitingStart();
  }

  // Versions

  /** Names the text on disk; a change can be bound to it. */
  async version(): Promise<string> {
    return versionOf((await sourceOf(this.#options)).text);
  }

  /** The kept versions, oldest first. */
  versions(): Promise<VersionInfo[]> {
    return this.#versions.list();
  }

  /** What changed between two kept versions. Default: what the latest one changed; with `from` alone, since then. */
  differences(from?: number | string, to?: number | string): Promise<ConfigDifference[]> {
    return this.#versions.differences(from, to);
  }

  /** Brings back the version before the latest change, or the one with the id. */
  async restore(id: number | undefined, options: WriteOptions = {}): Promise<ConfigWritten> {
    return this.#writer.write(await this.#versions.restorable(id), options);
  }

  // To and from another gateway

  /** The content of the file for another gateway, with a reference to a variable in place of each secret. */
  exported(): PortableConfig & { version: string } {
    const { source, raw } = this.#active.reading;
    return { ...withoutSecretValues(raw, this.composed), version: versionOf(source.text) };
  }

  /** Makes the file say what an exported configuration says. Secrets and comments that are here stay. */
  async import(
    configuration: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<ConfigWritten> {
    return this.change(editsForImport(configuration, this.raw, this.composed), options);
  }
}
