import { basename } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { isPorticoError, PorticoError } from "../errors.ts";
import {
  formatKeyPath,
  isAtOrBelow,
  type KeyPath,
  parseKeyPath,
  valueAt,
} from "../text/key-path.ts";
import { createTurns } from "../timing/in-turn.ts";
import type { ConfigSchemas, Dispose, Logger } from "../types.ts";
import { composeSchema } from "./compose.ts";
import { changedKeys, deepFreeze, type OnChange } from "./diff.ts";
import { setInText, unsetInText } from "./json5/edit.ts";
import type { Environment } from "./environment.ts";
import { ConfigError, type ConfigProblem, sameText } from "./error.ts";
import { evaluate, explainUnknown, UNKNOWN } from "./evaluate.ts";
import { readText, writeText } from "./file.ts";
import { expandReferences } from "./references.ts";
import {
  type ConfigOptions,
  isSame,
  type Reading,
  read,
  type Source,
  idOf,
  sourceOf,
} from "./read.ts";
import { type KernelConfig, kernelSchemas } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import { watchFiles } from "./watch.ts";

const GRACE_MS = 250;

/** Reads the file. Throws a `ConfigError` where it is not JSON5; whether its content is right, `check` says. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  return new ConfigStore(options, await sourceOf(options));
}

/** The configuration file, checked against the sections that its owners define. */
export class ConfigStore {
  readonly file: string;
  readonly #name: string;
  readonly #options: ConfigOptions;
  readonly #definitions = new Map<symbol, ConfigSchemas>([[Symbol("kernel"), kernelSchemas]]);
  readonly #inTurn = createTurns();
  #reading: Reading;
  #composed: TSchema | undefined;
  #evaluated: ReturnType<typeof evaluate> | undefined;
  #problem: { message: string; line?: number | undefined } | undefined;
  /** What was on disk when it was last judged. */
  #seen: Source;
  #onChange: OnChange | undefined;
  #log: Logger | undefined;

  constructor(options: ConfigOptions, source: Source) {
    this.file = options.file;
    this.#name = basename(options.file);
    this.#options = options;
    this.#reading = read(source, options);
    this.#seen = source;
  }

  /** The variables that references are looked up in. */
  get env(): Environment {
    return this.#reading.env;
  }

  /** Adds the schemas of an owner's sections: path → schema, `*` for any key of a map. Undone by the result. */
  define(owner: string, schemas: ConfigSchemas): Dispose {
    const key = Symbol(owner);
    const forget = () => {
      this.#composed = undefined;
      this.#evaluated = undefined;
    };
    this.#definitions.set(key, schemas);
    forget();
    return () => {
      if (this.#definitions.delete(key)) forget();
    };
  }

  /** Throws a `ConfigError` that names everything that is wrong with what is active. */
  readonly check = (): void => this.#complain(this.#active().problems());

  /** Everything active with its defaults; frozen, and replaced as a whole by a change. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#active().value;
  }

  /** The kernel's own sections of `current`. */
  get kernel(): Readonly<KernelConfig> {
    return this.current as typeof this.current & KernelConfig;
  }

  /** A section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section alone. */
  readonly section = (path: string): unknown => {
    const steps = path.split(".");
    if (steps.at(-1) === "*") steps.pop();
    const { value, problems } = this.#active();
    const prefix = formatKeyPath(steps);
    // Unknown keys may belong to somebody who has not come yet; `check` is for them.
    this.#complain(
      problems((one) => one.message !== UNKNOWN && isAtOrBelow(formatKeyPath(one.path), prefix)),
    );
    return valueAt(value, steps);
  };

  /** What the file says: without defaults, references as they are written. */
  get raw(): Readonly<Record<string, unknown>> {
    return this.#reading.raw;
  }

  /** All sections together, as a TypeBox schema. */
  get composed(): TSchema {
    return (this.#composed ??= composeSchema(this.#definitions.values()));
  }

  /** The secrets that are active, for redaction. */
  secrets(): string[] {
    return secretsIn(this.current, this.composed);
  }

  /** Of what is active, for the processes that share the file. */
  get id(): string {
    return idOf(this.#reading.source);
  }

  /** Why the file on disk is not active, while the last good configuration is. */
  get problem(): { message: string; line?: number | undefined } | undefined {
    return this.#problem;
  }

  /**
   * Writes one key back, atomically and with mode 0600; comments, order and references of the file stay. Strings are
   * taken as in the file: `${NAME}` is a reference. Throws a `ConfigError`, and writes nothing, where the result
   * would not be right; throws `config_error`, and takes back what it wrote, where somebody refuses it. Once this has
   * resolved, the change is active. Resolves with the undo, undefined where nothing had to be written.
   */
  set(path: string | KeyPath, value: unknown): Promise<Dispose | undefined> {
    const steps = typeof path === "string" ? parseKeyPath(path) : path;
    return this.#alone(async () => {
      const unknown = explainUnknown(steps, this.composed);
      if (unknown) this.#complain([unknown]);
      return this.#write(steps, (text, meaning) => setInText(text, steps, value, meaning));
    });
  }

  /** Removes one key, so that its default is active; resolves with the undo, undefined where it was not there. */
  unset(path: string | KeyPath): Promise<Dispose | undefined> {
    const steps = typeof path === "string" ? parseKeyPath(path) : path;
    return this.#alone(() => this.#write(steps, (text) => unsetInText(text, steps)));
  }

  /** Applies the file now, instead of when the watcher sees that it changed; `problem` says what is wrong with it. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => void (await this.#reload(await this.#onDisk())));
  }

  /**
   * Applies the file whenever it changes; what is wrong with it is logged. During `onChange`, `current` already is the
   * new one; when it throws, the previous one is back and `onChange` is called once more, with `back`. It must not wait
   * for `set` or `unset`, which wait for their turn behind it.
   */
  async watch(onChange: OnChange, log?: Logger): Promise<Dispose> {
    this.#onChange = onChange;
    this.#log = log;
    const { envFile } = this.#options;
    const stop = await watchFiles(envFile ? [this.file, envFile] : [this.file], () => this.#look());
    return async () => {
      this.#onChange = undefined;
      await stop();
    };
  }

  /** One at a time, over all processes that share the file. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const place = this.#options.link?.workers.place("configuration", 1);
    await place?.granted;
    return this.#inTurn(work).finally(() => place?.leave());
  }

  #onDisk(): Promise<Source> {
    return sourceOf(this.#options).catch((error: Error) => ({ text: undefined, variables: error }));
  }

  #active(): ReturnType<typeof evaluate> {
    if (!this.#evaluated) {
      this.#evaluated = evaluate(this.#reading, this.composed);
      deepFreeze(this.#evaluated.value);
    }
    return this.#evaluated;
  }

  #activate(reading: Reading): void {
    this.#reading = reading;
    this.#evaluated = undefined;
  }

  #complain(problems: readonly ConfigProblem[]): void {
    if (problems.length > 0) throw new ConfigError(problems, this.#name);
  }

  /** Editors write in place, swap files, or remove and make them anew: what looks half done gets a moment. */
  async #look(): Promise<void> {
    const source = await this.#onDisk();
    if (isSame(source, this.#seen)) return;
    if (!this.#isWhole(source)) await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    await this.#inTurn(async () => {
      // While this waited, the file may have been written again: there is a hint for that too.
      if (isSame(await this.#onDisk(), source)) await this.#reload(source);
    });
  }

  #isWhole(source: Source): boolean {
    try {
      return Boolean(source.text?.trim() && read(source, this.#options));
    } catch {
      return false;
    }
  }

  /** Makes it active, or throws and leaves everything as it was. */
  async #apply(source: Source): Promise<void> {
    const reading = read(source, this.#options);
    const { value, problems } = evaluate(reading, this.composed);
    this.#complain(problems());
    const before = { reading: this.#reading, value: this.current };
    const keys = changedKeys(before.value, value);
    this.#activate(reading);
    const tell = this.#onChange;
    if (
      !tell ||
      (keys.length === 0 && String(before.reading.source.variables) === String(source.variables))
    )
      return;
    const agree = this.#options.link?.agree;
    let hasVoted = false;
    try {
      await tell({ keys, next: this.current, previous: before.value, back: false });
      hasVoted = true;
      await agree?.("config", idOf(source));
    } catch (cause) {
      if (!hasVoted) agree?.("config", idOf(source), cause as Error).catch(() => {});
      const refused = this.current;
      this.#activate(before.reading);
      await tell({ keys, next: this.current, previous: refused, back: true }).catch(
        (error: Error) =>
          this.#log?.error(
            { err: error },
            `not everything went back to the active configuration: ${error.message}`,
          ),
      );
      const message = `${this.#name} is right, but could not be applied: ${(cause as Error).message}`;
      throw new PorticoError("config_error", message, { status: 500, cause });
    }
  }

  /** Resolves with why it is not active: a `ConfigError` where it is wrong, another where somebody refused it. */
  async #reload(source: Source): Promise<Error | undefined> {
    const { text, variables } = source;
    this.#seen = source;
    if (isSame(source, this.#reading.source) && this.#problem === undefined) return undefined;
    try {
      if (variables instanceof Error) throw variables;
      if (!text?.trim())
        this.#complain([
          { key: "", message: `the file is ${text === undefined ? "gone" : "empty"}` },
        ]);
      await this.#apply(source);
      if (this.#problem) this.#log?.info(`${this.#name} is right again and in force`);
      this.#problem = undefined;
      return undefined;
    } catch (error) {
      const { message, cause } = error as Error;
      if (isPorticoError(cause) && cause.code === "conflict") return error as Error; // all look again
      const line =
        error instanceof ConfigError ? error.problems.find((one) => one.line)?.line : undefined;
      this.#problem = { message, line };
      this.#log?.error(
        { line, err: error },
        `the changed configuration is not in force: ${message}`,
      );
      return error as Error;
    }
  }

  /** Edits the text that is on disk now, and never what somebody else has written meanwhile. */
  async #write(path: KeyPath, edit: (text: string, meaning: unknown) => string) {
    for (;;) {
      const source = await sourceOf(this.#options);
      const { text = "" } = source;
      const before = read(source, this.#options);
      const changed = edit(text, expandReferences(valueAt(before.raw, path), before.env).value);
      if (changed === text) return undefined;
      const undo = async () =>
        void (await writeText(
          this.file,
          text,
          async () => (await readText(this.file)) !== changed,
        ));
      const next = { ...source, text: changed };
      const after = read(next, this.#options);
      // What was wrong before must not keep anybody from mending it.
      const known = new Set(evaluate(before, this.composed).problems().map(sameText));
      const { problems, references } = evaluate(after, this.composed);
      const unset = this.#options.unsetAllowed
        ? references.filter((one) => one.unset.length > 0)
        : [];
      const isOld = (problem: ConfigProblem) =>
        known.has(sameText(problem)) ||
        unset.some((one) => formatKeyPath(one.path) === problem.key);
      this.#complain(problems().filter((problem) => !isOld(problem)));
      if (
        !(await writeText(
          this.file,
          changed,
          async () => ((await readText(this.file)) ?? "") !== text,
        ))
      )
        continue;
      if (!this.#onChange) {
        this.#activate(after);
        return undo;
      }
      const failure = await this.#reload(next);
      if (!failure) return undo;
      // Where the file was wrong before, one fault is mended and stays so; what was refused does not stay.
      if (!(failure instanceof ConfigError)) {
        await undo();
        await this.#reload(await this.#onDisk());
      }
      throw new PorticoError("config_error", failure.message, { status: 500, cause: failure });
    }
  }
}
