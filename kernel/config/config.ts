/**
 * The configuration of one file, as the rest of the gateway uses it. Each part has its own module: `active.ts` holds
 * the active configuration, `validate.ts` checks it, `write.ts` changes the file, `follow.ts` applies changes on disk,
 * `versions.ts` has the earlier versions, and `portable.ts` transfers the configuration to another gateway.
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
import { computeVersion } from "./history.ts";
import { planImport, type PortableConfig, replaceSecrets } from "./portable.ts";
import { type ConfigOptions, identifySource, read, type Source, readSource } from "./read.ts";
import type { KernelConfig } from "./schema.ts";
import { collectSecrets } from "./secrets.ts";
import { type LoadCheck, SectionRegistry } from "./sections.ts";
import { ConfigValidator } from "./validate.ts";
import { ConfigVersions, type VersionInfo } from "./versions.ts";
import { type ConfigWritten, ConfigWriter, type WriteOptions } from "./write.ts";

/** Reads the file. Throws a `ConfigError` if it is not JSON5; `check` validates its content. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  return new ConfigStore(options, await readSource(options));
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
      apply: (reading) => this.#follower.activateWritten(reading),
      reapply: () => this.#follower.activateFromDisk(),
    });
  }

  // The active configuration

  /** The variables that references are resolved with. */
  get env(): Environment {
    return this.#active.reading.env;
  }

  /** The active configuration with its defaults. It is frozen, and a change replaces it as a whole. */
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

  /** The secrets of the active configuration, for redaction. */
  secrets(): string[] {
    return collectSecrets(this.current, this.composed);
  }

  /** Identifies the active state of the files, for the processes that share them. */
  get id(): string {
    return identifySource(this.#active.reading.source);
  }

  // Schemas and validation

  /** Adds the sections of an owner: path → schema, `*` for any key of a map. The returned function removes them. */
  define(owner: string, schemas: ConfigSchemas, check?: LoadCheck): Dispose {
    return this.#sections.define({ name: owner, schemas, check });
  }

  /** All sections together, as a TypeBox schema. */
  get composed(): TSchema {
    return this.#sections.composed;
  }

  /** Throws a `ConfigError` that names everything in the active configuration that violates the schemas. */
  readonly check = (): void => this.#validator.check();

  /**
   * Returns a section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section
   * alone.
   */
  readonly section = (path: string): unknown => this.#validator.section(path);

  /** Returns all problems of the active configuration, by the schemas and by the owners' checks. */
  problems(): Promise<ConfigProblem[]> {
    return this.#validator.problems();
  }

  /** Returns the parts of the active configuration that a gateway leaves out, by the owners' checks. */
  leftOut(): Promise<ConfigProblem[]> {
    return this.#validator.leftOut();
  }

  // Changes through the gateway

  /**
   * Changes keys in the file, atomically and with mode 0600; comments, order and references of the file stay. Throws a
   * `ConfigError`, and writes nothing, if the result would be invalid. Throws `config_error`, and undoes the write, if
   * a plugin or a worker refuses it. The change is active when this resolves.
   */
  change(edits: readonly ConfigEdit[], options: WriteOptions = {}): Promise<ConfigWritten> {
    return this.#writer.write({ edits }, options);
  }

  /** Writes one key; see `change`. Resolves to the undo, or to undefined if the key already had the value. */
  async set(path: string | KeyPath, value: unknown): Promise<Dispose | undefined> {
    const { undo } = await this.change([{ path: toKeyPath(path), value }]);
    return undo;
  }

  /** Removes one key, so that its default is active. Resolves to the undo, or to undefined if the key was not set. */
  async unset(path: string | KeyPath): Promise<Dispose | undefined> {
    const edits = [{ path: toKeyPath(path), remove: true as const }];
    const { undo } = await this.change(edits, { mayRemoveMaps: true });
    return undo;
  }

  // Changes on disk

  /** The reason why the file on disk is not active and the last valid configuration is. */
  get problem(): FileProblem | undefined {
    return this.#follower.problem;
  }

  /** Applies the file now, without waiting for the watcher. `problem` then has the problem of the file, if any. */
  refresh(): Promise<void> {
    return this.#follower.refresh();
  }

  /**
   * Applies the file whenever it changes, and logs its problems. During `onChange`, `current` already is the new
   * configuration. If `onChange` throws, the previous configuration is restored and `onChange` is called once more,
   * with `back`. `onChange` must not wait for a change of its own, which would wait for this one.
   */
  watch(onChange: OnChange, log?: Logger): Promise<Dispose> {
    return this.#follower.watch(onChange, log);
  }

  /** Returns the changed keys that take effect at the next start of the gateway that follows the file. */
  awaitingStart(): string[] {
    return this.#follower.awaitingStart();
  }

  // Versions

  /** Identifies the text on disk. A change can be made conditional on it. */
  async version(): Promise<string> {
    return computeVersion((await readSource(this.#options)).text);
  }

  /** Returns the stored versions, oldest first. */
  versions(): Promise<VersionInfo[]> {
    return this.#versions.list();
  }

  /**
   * Returns the differences between two stored versions. Default: those of the latest version from its predecessor;
   * with `from` alone, all since then.
   */
  differences(from?: number | string, to?: number | string): Promise<ConfigDifference[]> {
    return this.#versions.differences(from, to);
  }

  /** Restores the version before the latest change, or the one with the id. */
  async restore(id: number | undefined, options: WriteOptions = {}): Promise<ConfigWritten> {
    return this.#writer.write(await this.#versions.restorable(id), options);
  }

  // Transfer to and from another gateway

  /** Returns the content of the file for another gateway, with a reference to a variable in place of each secret. */
  exported(): PortableConfig & { version: string } {
    const { source, raw } = this.#active.reading;
    return { ...replaceSecrets(raw, this.composed), version: computeVersion(source.text) };
  }

  /** Replaces the content of the file by an exported configuration. Existing secrets and comments stay. */
  async import(
    configuration: Readonly<Record<string, unknown>>,
    options: WriteOptions = {},
  ): Promise<ConfigWritten> {
    return this.change(planImport(configuration, this.raw, this.composed), options);
  }
}
