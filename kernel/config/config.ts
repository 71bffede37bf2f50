import { basename } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { PorticoError } from "../errors.ts";
import { formatKeyPath, type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import { createTurns } from "../timing/in-turn.ts";
import type { ConfigSchemas, Dispose, Logger } from "../types.ts";
import { composeSchema, printable } from "./compose.ts";
import { changedKeys, deepFreeze } from "./diff.ts";
import { setInText, unsetInText } from "./edit.ts";
import { ConfigError, type ConfigProblem, problemText } from "./error.ts";
import { evaluate, explainUnknown, UNKNOWN } from "./evaluate.ts";
import { readText, writeText } from "./file.ts";
import { type Reading, read } from "./read.ts";
import { type KernelConfig, kernelSchemas } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import { watchFiles } from "./watch.ts";

export interface ConfigOptions {
  /** The file; one that is not there counts as empty. */
  file: string;
  env: Record<string, string | undefined>;
}

/** A changed configuration that was read and found right. */
export interface ConfigChange {
  /** The keys that differ, as deep as both sides are objects: `gateway.port`, `channels.main` for a new channel. */
  keys: string[];
  next: Readonly<Record<string, unknown>>;
  previous: Readonly<Record<string, unknown>>;
  /** Somebody refused the change before: whoever took it goes back to what was active. */
  back: boolean;
}

const GRACE_MS = 250;

type OnChange = (change: ConfigChange) => Promise<void>;

/** Reads the file. Throws a `ConfigError` where it is not JSON5; whether its content is right, `check` says. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  return new ConfigStore(options, await readText(options.file));
}

/** The configuration file, checked against the sections that its owners define. */
export class ConfigStore {
  readonly file: string;
  readonly #name: string;
  readonly #env: ConfigOptions["env"];
  readonly #definitions = new Map<symbol, ConfigSchemas>([[Symbol("kernel"), kernelSchemas]]);
  readonly #inTurn = createTurns();
  #reading: Reading;
  #composed: TSchema | undefined;
  #evaluated: ReturnType<typeof evaluate> | undefined;
  #problem: { message: string; line?: number | undefined } | undefined;
  /** The text on disk that was last judged. */
  #seen: string | undefined;
  #onChange: OnChange | undefined;
  #log: Logger | undefined;

  constructor({ file, env }: ConfigOptions, text: string | undefined) {
    this.file = file;
    this.#name = basename(file);
    this.#env = env;
    this.#reading = this.#read(text ?? "");
    this.#seen = text;
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
  check(): void {
    this.#complain(this.#active().problems);
  }

  /** Everything active with its defaults; frozen, and replaced as a whole by a change. */
  get current(): Readonly<Record<string, unknown>> {
    return this.#active().value;
  }

  /** The kernel's own sections of `current`. */
  get kernel(): Readonly<KernelConfig> {
    return this.current as unknown as KernelConfig;
  }

  /** A section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section alone. */
  readonly section = (path: string): unknown => {
    const steps = path.split(".");
    if (steps.at(-1) === "*") steps.pop();
    const { value, problems } = this.#active();
    const prefix = formatKeyPath(steps);
    const isOwn = (key: string) => key.startsWith(prefix) && /^(?:[.[]|$)/.test(key.slice(prefix.length));
    // Unknown keys may belong to somebody who has not come yet; `check` is for them.
    this.#complain(problems.filter(({ key, message }) => isOwn(key) && message !== UNKNOWN));
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

  /** All sections together, as JSON Schema of what a person writes. */
  schema(): Record<string, unknown> {
    return printable(this.composed);
  }

  /** The secrets that are active, for redaction. */
  secrets(): string[] {
    return secretsIn(this.current, this.composed);
  }

  /** Why the file on disk is not active, while the last good configuration is. */
  get problem(): { message: string; line?: number | undefined } | undefined {
    return this.#problem;
  }

  /**
   * Writes one key back, atomically and with mode 0600; comments, order and references of the file stay. Strings are
   * taken as in the file: `${NAME}` is a reference. Throws a `ConfigError`, and writes nothing, where the result
   * would not be right; throws `config_error`, and takes back what it wrote, where somebody refuses it. Once this has
   * resolved, the change is active.
   */
  set(path: string | KeyPath, value: unknown): Promise<void> {
    const steps = typeof path === "string" ? parseKeyPath(path) : path;
    return this.#inTurn(async () => {
      const unknown = explainUnknown(steps, this.composed);
      if (unknown) this.#complain([unknown]);
      await this.#write(steps, (text, meaning) => setInText(text, steps, value, meaning));
    });
  }

  /** Removes one key, so that its default is active; resolves with whether it was there. */
  unset(path: string | KeyPath): Promise<boolean> {
    const steps = typeof path === "string" ? parseKeyPath(path) : path;
    return this.#inTurn(() => this.#write(steps, (text) => unsetInText(text, steps)));
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
    const stop = await watchFiles([this.file], () => this.#look());
    return async () => {
      this.#onChange = undefined;
      await stop();
    };
  }

  #read(text: string): Reading {
    return read(text, this.#env, this.#name);
  }

  #onDisk(): Promise<string | undefined> {
    return readText(this.file).catch(() => undefined);
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

  /** Editors write in place, swap files, or remove and make them anew: a text that looks half done gets a moment. */
  async #look(): Promise<void> {
    const text = await this.#onDisk();
    if (text === this.#seen) return;
    if (!this.#isWhole(text)) await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    await this.#inTurn(async () => {
      // While this waited, the file may have been written again: there is a hint for that too.
      if ((await this.#onDisk()) === text) await this.#reload(text);
    });
  }

  #isWhole(text: string | undefined): boolean {
    try {
      return Boolean(text?.trim() && this.#read(text));
    } catch {
      return false;
    }
  }

  /** Makes a text active, or throws and leaves everything as it was. */
  async #apply(text: string): Promise<void> {
    const reading = this.#read(text);
    const { value, problems } = evaluate(reading, this.composed);
    this.#complain(problems);
    const before = { reading: this.#reading, value: this.current };
    const keys = changedKeys(before.value, value);
    this.#activate(reading);
    const tell = this.#onChange;
    if (keys.length === 0 || !tell) return;
    try {
      await tell({ keys, next: this.current, previous: before.value, back: false });
    } catch (cause) {
      const refused = this.current;
      this.#activate(before.reading);
      await tell({ keys, next: this.current, previous: refused, back: true }).catch((error: Error) =>
        this.#log?.error({ err: error }, `not everything went back to the active configuration: ${error.message}`),
      );
      const message = `${this.#name} is right, but could not be applied: ${(cause as Error).message}`;
      throw new PorticoError("config_error", message, { status: 500, cause });
    }
  }

  /** Resolves with why the text is not active: a `ConfigError` where it is wrong, another where somebody refused it. */
  async #reload(text: string | undefined): Promise<Error | undefined> {
    this.#seen = text;
    if ((text ?? "") === this.#reading.text && this.#problem === undefined) return undefined;
    try {
      if (text === undefined) this.#complain([{ key: "", message: "the file is gone or cannot be read" }]);
      if (!text?.trim()) this.#complain([{ key: "", message: "the file is empty" }]);
      await this.#apply(text as string);
      if (this.#problem) this.#log?.info(`${this.#name} is right again and in force`);
      this.#problem = undefined;
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      const line = error instanceof ConfigError ? error.problems.find((one) => one.line)?.line : undefined;
      this.#problem = { message, line };
      this.#log?.error({ line, err: error }, `the changed configuration is not in force: ${message}`);
      return error as Error;
    }
  }

  /** Edits the text that is on disk now, and never what somebody else has written meanwhile. */
  async #write(path: KeyPath, edit: (text: string, meaning: unknown) => string): Promise<boolean> {
    for (;;) {
      const text = (await readText(this.file)) ?? "";
      const before = this.#read(text);
      const changed = edit(text, valueAt(before.value, path));
      if (changed === text) return false;
      const after = this.#read(changed);
      // What was wrong before must not keep anybody from mending it; and without a gateway around, a variable may be
      // one that only the gateway's environment has.
      const known = new Set(evaluate(before, this.composed).problems.map(withoutLine));
      const unset = this.#onChange ? [] : after.references.filter((one) => one.unset.length > 0);
      const isOld = (problem: ConfigProblem) =>
        known.has(withoutLine(problem)) || unset.some((one) => formatKeyPath(one.path) === problem.key);
      this.#complain(evaluate(after, this.composed).problems.filter((problem) => !isOld(problem)));
      if (!(await writeText(this.file, changed, async () => ((await readText(this.file)) ?? "") !== text))) continue;
      if (!this.#onChange) {
        this.#activate(after);
        return true;
      }
      const failure = await this.#reload(changed);
      if (!failure) return true;
      // Where the file was wrong before, one fault is mended and stays so; what was refused does not stay.
      if (!(failure instanceof ConfigError)) {
        await writeText(this.file, text, async () => (await readText(this.file)) !== changed);
        await this.#reload(await readText(this.file));
      }
      throw new PorticoError("config_error", failure.message, { status: 500, cause: failure });
    }
  }
}

function withoutLine({ key, message, nearest }: ConfigProblem): string {
  return problemText({ key, message, nearest });
}
