/** The configuration of one file: what is active, how it is changed, and what it was before. */
import { basename } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import {
  formatKeyPath,
  isAtOrBelow,
  type KeyPath,
  parseKeyPath,
  toKeyPath,
  valueAt,
} from "../text/key-path.ts";
import { createTurns } from "../timing/in-turn.ts";
import type { ConfigSchemas, Dispose, Logger } from "../contract/index.ts";
import { ActiveConfig } from "./active.ts";
import { assess } from "./assess.ts";
import { keysAtNextStart } from "./compose.ts";
import { changedKeys, type OnChange } from "./diff.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import { differencesBetween } from "./differences.ts";
import type { ConfigEdit } from "./edits.ts";
import type { Environment } from "./environment.ts";
import { ConfigError, type ConfigProblem } from "./config-error.ts";
import { errors } from "./errors.ts";
import { UNKNOWN } from "./evaluate.ts";
import { editFile } from "./file.ts";
import { ConfigFollower, type FileProblem } from "./follow.ts";
import {
  changesBetween,
  ConfigHistory,
  type ConfigVersion,
  versionBefore,
  versionOf,
} from "./history.ts";
import { FILE_ORIGIN } from "./origin.ts";
import { type PortableConfig, withoutSecretValues, withOwnSecrets } from "./portable.ts";
import { type ConfigOptions, idOf, read, type Source, sourceOf } from "./read.ts";
import type { KernelConfig } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import { type LoadCheck, SectionRegistry } from "./sections.ts";
import { watchFiles } from "./watch.ts";
import { type ConfigWritten, ConfigWriter, type TextChange, type WriteOptions } from "./write.ts";

/** A version of the file without its text, which holds secrets. */
export type VersionInfo = Omit<ConfigVersion, "text">;

/** Reads the file. Throws a `ConfigError` where it is not JSON5; whether its content is right, `check` says. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  return new ConfigStore(options, await sourceOf(options));
}

export class ConfigStore {
  readonly file: string;
  readonly #name: string;
  readonly #options: ConfigOptions;
  readonly #sections = new SectionRegistry();
  readonly #inTurn = createTurns();
  readonly #history: ConfigHistory | undefined;
  readonly #active: ActiveConfig;
  readonly #follower: ConfigFollower;
  readonly #writer: ConfigWriter;
  /** The text that was last made sure to be in the history. */
  #noted: string | undefined;
  #log: Logger | undefined;
  /** What was active when a gateway began to follow the file. */
  #atStart: Readonly<Record<string, unknown>> | undefined;

  constructor(options: ConfigOptions, source: Source) {
    this.file = options.file;
    this.#name = basename(options.file);
    this.#options = options;
    if (options.historyFile)
      this.#history = new ConfigHistory(options.historyFile, () => this.composed);
    this.#active = new ActiveConfig(read(source, options), this.#sections);
    const shared = { options, name: this.#name, sections: this.#sections };
    this.#follower = new ConfigFollower({
      ...shared,
      active: this.#active,
      inTurn: this.#inTurn,
      noteActive: (active) => this.#noteActive(active),
    });
    this.#writer = new ConfigWriter({
      ...shared,
      surroundings: options,
      history: this.#history,
      apply: (reading) => this.#follower.takeWritten(reading),
      reapply: () => this.#follower.takeFromDisk(),
    });
  }

  /** The variables that references are looked up in. */
  get env(): Environment {
    return this.#active.reading.env;
  }

  /** Adds the sections of an owner: path → schema, `*` for any key of a map. Undone by the result. */
  define(owner: string, schemas: ConfigSchemas, check?: LoadCheck): Dispose {
    return this.#sections.define({ name: owner, schemas, check });
  }

  /** Throws a `ConfigError` that names everything in what is active that breaks the schemas. */
  readonly check = (): void => this.#complain(this.#active.evaluated.problems());

  /** Everything that is wrong with what is active: by the schemas, and by the owners' checks. */
  async problems(): Promise<ConfigProblem[]> {
    return [...this.#active.evaluated.problems(), ...(await this.leftOut())];
  }

  /** What a gateway leaves out of what is active, by the owners' checks. */
  async leftOut(): Promise<ConfigProblem[]> {
    const { reading, evaluated } = this.#active;
    return (await assess(reading, evaluated, this.#sections, this.#options)).faults;
  }

  /** Everything active with its defaults; frozen, and replaced as a whole by a change. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#active.evaluated.value;
  }

  /** The kernel's own sections of `current`. */
  get kernel(): Readonly<KernelConfig> {
    return this.current as typeof this.current & KernelConfig;
  }

  /** A section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section alone. */
  readonly section = (path: string): unknown => {
    const steps = path.split(".");
    if (steps.at(-1) === "*") steps.pop();
    const { value, problems } = this.#active.evaluated;
    const prefix = formatKeyPath(steps);
    // Unknown keys may belong to a plugin that is not loaded yet; `check` is for them.
    this.#complain(
      problems(
        ({ message, path }) => message !== UNKNOWN && isAtOrBelow(formatKeyPath(path), prefix),
      ),
    );
    return valueAt(value, steps);
  };

  /** What the active file says: without defaults, references as they are written. */
  get raw(): Readonly<Record<string, unknown>> {
    return this.#active.reading.raw;
  }

  /** All sections together, as a TypeBox schema. */
  get composed(): TSchema {
    return this.#sections.composed;
  }

  /** The secrets that are active, for redaction. */
  secrets(): string[] {
    return secretsIn(this.current, this.composed);
  }

  /** Names the active state of the files, for the processes that share them. */
  get id(): string {
    return idOf(this.#active.reading.source);
  }

  /** Why the file on disk is not active, while the last good configuration is. */
  get problem(): FileProblem | undefined {
    return this.#follower.problem;
  }

  /** Changed keys that wait for the next start of the gateway that follows the file. */
  awaitingStart(): string[] {
    if (!this.#atStart) return [];
    return keysAtNextStart(this.composed, changedKeys(this.#atStart, this.current));
  }

  /** Names the text on disk; a change can be bound to it. */
  async version(): Promise<string> {
    return versionOf((await sourceOf(this.#options)).text);
  }

  /**
   * Changes keys in the file, atomically and with mode 0600; comments, order and references of the file stay. Throws a
   * `ConfigError`, and writes nothing, where the result would not be right; throws `config_error`, and takes back what
   * it wrote, where somebody refuses it. Once this has resolved, the change is active.
   */
  change(edits: readonly ConfigEdit[], options: WriteOptions = {}): Promise<ConfigWritten> {
    return this.#write({ edits }, options);
  }

  /** Writes one key; see `change`. Resolves with the undo, undefined where nothing had to be written. */
  async set(path: string | KeyPath, value: unknown): Promise<Dispose | undefined> {
    const { undo } = await this.change([{ path: toKeyPath(path), value }]);
    return undo;
  }

  /** Removes one key, so that its default is active; resolves with the undo, undefined where it was not there. */
  async unset(path: string | KeyPath): Promise<Dispose | undefined> {
    const edits = [{ path: toKeyPath(path), remove: true as const }];
    const { undo } = await this.change(edits, { mayRemoveMaps: true });
    return undo;
  }

  /** The kept versions, oldest first. */
  async versions(): Promise<VersionInfo[]> {
    return (await this.#versions()).map(({ text: _, ...version }) => version);
  }

  /** What changed between two kept versions. Default: what the latest one changed; with `from` alone, since then. */
  async differences(from?: number | string, to?: number | string): Promise<ConfigDifference[]> {
    const versions = await this.#versions();
    const after = to === undefined ? versions.at(-1) : pick(versions, to);
    const before =
      from === undefined ? versions[versions.indexOf(after!) - 1] : pick(versions, from);
    if (!after) return [];
    return changesBetween(before?.text ?? "", after.text, this.composed);
  }

  /** Brings back the version before the latest change, or the one with the id. */
  async restore(id: number | undefined, options: WriteOptions = {}): Promise<ConfigWritten> {
    const versions = await this.#versions();
    const target = id === undefined ? versionBefore(versions) : pick(versions, id);
    if (!target) throw errors.noEarlierVersion();
    const text = target.text.trim() === "" ? "{}\n" : target.text;
    return this.#write({ text, restored: target.id }, options);
  }

  /** Applies the file now, instead of when the watcher sees that it changed; `problem` says what is wrong with it. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#follower.takeFromDisk();
    });
  }

  /**
   * Applies the file whenever it changes; what is wrong with it is logged. During `onChange`, `current` already is the
   * new one; when it throws, the previous one is back and `onChange` is called once more, with `back`. It must not wait
   * for a change of its own, which waits for its turn behind it.
   */
  async watch(onChange: OnChange, log?: Logger): Promise<Dispose> {
    this.#atStart = this.current;
    this.#log = log;
    this.#follower.begin(onChange, log);
    await this.#noteActive(this.#active.reading.source);
    const { envFile } = this.#options;
    const files = envFile ? [this.file, envFile] : [this.file];
    const stop = await watchFiles(files, () => this.#follower.look());
    return async () => {
      this.#follower.end();
      await stop();
    };
  }

  /** What the file says, for another gateway: a reference to a variable stands in the place of each secret. */
  exported(): PortableConfig & { version: string } {
    const { source, raw } = this.#active.reading;
    return { ...withoutSecretValues(raw, this.composed), version: versionOf(source.text) };
  }

  /** Makes the file say what an exported configuration says. Secrets and comments that are here stay. */
  import(configuration: Readonly<Record<string, unknown>>, options: WriteOptions = {}) {
    const { raw } = this.#active.reading;
    const wanted = withOwnSecrets(configuration, raw, this.composed) as Record<string, unknown>;
    const edits = differencesBetween(raw, wanted, this.composed).map(
      ({ key, kind }): ConfigEdit => {
        const path = parseKeyPath(key);
        return kind === "removed" ? { path, remove: true } : { path, value: valueAt(wanted, path) };
      },
    );
    return this.change(edits, options);
  }

  /** One write at a time, over all processes of the gateway. */
  async #write(change: TextChange, options: WriteOptions): Promise<ConfigWritten> {
    const place = this.#options.link?.workers.place("configuration", 1);
    await place?.granted;
    return this.#inTurn(() => this.#writer.write(change, options)).finally(() => place?.leave());
  }

  /** A file that an editor wrote is a version too. One without a file has no history yet. */
  async #noteActive({ text }: Source): Promise<void> {
    if (!this.#history || text === undefined || text === this.#noted) return;
    try {
      await this.#noteText(this.#history);
      this.#noted = text;
    } catch (error) {
      this.#log?.warn({ err: error }, "this version of the configuration could not be kept");
    }
  }

  /** With what an editor wrote since. */
  async #versions(): Promise<ConfigVersion[]> {
    if (!this.#history) return [];
    await this.#noteText(this.#history);
    return this.#history.list();
  }

  /**
   * Keeps the text on disk as a version of its own where nobody has. The file is locked meanwhile: a write has its text
   * in the history a moment before it is on disk, and the text before it must not come back on top.
   */
  async #noteText(history: ConfigHistory): Promise<void> {
    const { text } = await sourceOf(this.#options);
    const latest = (await history.list()).at(-1)?.text;
    if (text === undefined || text === latest) return;
    const note = async (current = text) => {
      await history.add(current, FILE_ORIGIN);
      return undefined;
    };
    // A file that cannot be locked is in a directory that cannot be written to.
    await editFile(this.file, note).catch(() => note());
  }

  #complain(problems: readonly ConfigProblem[]): void {
    if (problems.length > 0) throw new ConfigError(problems, this.#name);
  }
}

/** By id or by version. */
function pick(versions: readonly ConfigVersion[], wanted: number | string): ConfigVersion {
  const version = versions.findLast((each) => each.id === wanted || each.version === wanted);
  if (version) return version;
  const ids = versions.map(({ id }) => id);
  const kept =
    ids.length === 0
      ? "No versions are kept."
      : `The versions ${ids[0]} to ${ids.at(-1)} are kept.`;
  throw errors.unknownVersion({ version: wanted, kept });
}
