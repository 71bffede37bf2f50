import { basename } from "node:path";
import type { TSchema } from "@sinclair/typebox";
import { PorticoError } from "../errors.ts";
import { createTurns } from "../timing/in-turn.ts";
import { formatKeyPath, type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import type { ConfigSchemas, Dispose, Logger } from "../types.ts";
import { composeSchema, printable } from "./compose.ts";
import { changedKeys, deepFreeze } from "./diff.ts";
import { setInText, unsetInText } from "./edit.ts";
import { ConfigError, type ConfigProblem, problemText } from "./error.ts";
import { evaluate, explainUnknown, read, UNKNOWN } from "./evaluate.ts";
import { readText, writeText } from "./file.ts";
import { type KernelConfig, kernelSchemas } from "./schema.ts";
import { secretsIn } from "./secrets.ts";
import { watchFile } from "./watch.ts";

export interface ConfigOptions {
  /** The file; one that is not there counts as empty. */
  file: string;
  env: Record<string, string | undefined>;
  /** Gets every secret that the configuration holds, each time it is read. */
  onSecret?: (secret: string) => void;
}

/** A changed configuration that was read and found right. */
export interface ConfigChange {
  /** The keys that differ, as deep as both sides are objects: `gateway.port`, `channels.main` for a new channel. */
  keys: string[];
  next: Readonly<Record<string, unknown>>;
  previous: Readonly<Record<string, unknown>>;
  /** Somebody refused the change before: whoever took it goes back to what was in force. */
  back: boolean;
}

/** Why the file on disk is not in force. */
export interface ReloadProblem {
  message: string;
  line?: number;
}

/** The configuration file, checked against the sections that its owners define. */
export interface ConfigStore {
  readonly file: string;
  /** Adds the schemas of an owner's sections: path → schema, `*` for any key of a map. Undone by the answer. */
  define(owner: string, schemas: ConfigSchemas): Dispose;
  /** Throws a `ConfigError` that names everything that is wrong with what is in force. */
  check(): void;
  /** Everything in force with its defaults; frozen, and replaced as a whole by a change. */
  readonly current: Readonly<Record<string, unknown>>;
  /** The kernel's own sections of `current`. */
  readonly kernel: Readonly<KernelConfig>;
  /** A section with its defaults; for `channels.*` the whole map. Throws a `ConfigError` about that section alone. */
  section(path: string): unknown;
  /** What the file says: without defaults, references as they are written. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** All sections together, as a TypeBox schema. */
  readonly composed: TSchema;
  /** All sections together, as JSON Schema of what a person writes. */
  schema(): Record<string, unknown>;
  /** The secrets in force, for redaction. */
  secrets(): string[];
  /**
   * Writes one key back, atomically and with mode 0600; comments, order and references of the file stay. Strings are
   * taken as in the file: `${NAME}` is a reference. Throws a `ConfigError`, and writes nothing, where the result
   * would not be right; throws `config_error`, and takes back what it wrote, where somebody refuses it. Once this has
   * resolved, the change is in force.
   */
  set(path: string | KeyPath, value: unknown): Promise<void>;
  /** Removes one key, so that its default is in force; answers whether it was there. */
  unset(path: string | KeyPath): Promise<boolean>;
  /** Applies the file now, instead of when the watcher sees that it changed; `problem` says what is wrong with it. */
  refresh(): Promise<void>;
  /** What is wrong with the file on disk, while the last good configuration stays in force. */
  readonly problem: ReloadProblem | undefined;
  /**
   * Applies the file whenever it changes; what is wrong with it is logged. During `onChange`, `current` already is the
   * new one; when it throws, the previous one is back and `onChange` is called once more, with `back`. It must not wait
   * for `set` or `unset`, which wait for their turn behind it.
   */
  watch(onChange: (change: ConfigChange) => Promise<void>, log?: Logger): Promise<Dispose>;
}

/** Reads the file. Throws a `ConfigError` where it is not JSON5; whether its content is right, `check` says. */
export async function openConfig(options: ConfigOptions): Promise<ConfigStore> {
  const { file, env } = options;
  const name = basename(file);
  const definitions = new Map<symbol, ConfigSchemas>([[Symbol("kernel"), kernelSchemas]]);
  let composed: TSchema | undefined;
  let reading = named(() => read("", env));
  let evaluated: ReturnType<typeof evaluate> | undefined;
  let problem: ReloadProblem | undefined;
  let applying: ((change: ConfigChange) => Promise<void>) | undefined;
  let log: Logger | undefined;
  const inTurn = createTurns();

  const initial = await readText(file);
  if (initial !== undefined) reading = named(() => read(initial, env));

  function named<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof ConfigError ? new ConfigError(error.problems, name) : error;
    }
  }

  const schema = (): TSchema => (composed ??= composeSchema(definitions.values()));
  const inForce = () => {
    if (!evaluated) {
      evaluated = evaluate(reading, schema());
      deepFreeze(evaluated.value);
      if (options.onSecret) for (const secret of secretsIn(evaluated.value, schema())) options.onSecret(secret);
    }
    return evaluated;
  };
  const complain = (problems: readonly ConfigProblem[]): void => {
    if (problems.length > 0) throw new ConfigError(problems, name);
  };

  function define(owner: string, schemas: ConfigSchemas): Dispose {
    const key = Symbol(owner);
    const forget = () => {
      composed = undefined;
      evaluated = undefined;
    };
    definitions.set(key, schemas);
    forget();
    return () => {
      if (definitions.delete(key)) forget();
    };
  }

  function section(path: string): unknown {
    const steps = path.split(".");
    if (steps.at(-1) === "*") steps.pop();
    const { value, problems } = inForce();
    const prefix = formatKeyPath(steps);
    // Unknown keys may belong to somebody who has not come yet; `check` is for them.
    const own = problems.filter(
      ({ key, message }) =>
        (key === prefix || (key.startsWith(prefix) && /^[.[]/.test(key.slice(prefix.length)))) && message !== UNKNOWN,
    );
    complain(own);
    return valueAt(value, steps);
  }

  /** Puts a text in force, or throws and leaves everything as it was. */
  async function apply(text: string): Promise<void> {
    const next = named(() => read(text, env));
    const result = evaluate(next, schema());
    complain(result.problems);
    const before = { reading, value: inForce().value };
    const keys = changedKeys(before.value, result.value);
    reading = next;
    evaluated = undefined;
    inForce();
    const tell = applying;
    if (keys.length === 0 || !tell) return;
    try {
      await tell({ keys, next: inForce().value, previous: before.value, back: false });
    } catch (cause) {
      reading = before.reading;
      evaluated = undefined;
      await tell({ keys, next: inForce().value, previous: result.value, back: true }).catch((error: Error) =>
        log?.error({ err: error }, `not everything went back to the configuration in force: ${error.message}`),
      );
      const message = `${name} is right, but could not be applied: ${(cause as Error).message}`;
      throw new PorticoError("config_error", message, { status: 500, cause });
    }
  }

  /** Answers why the text is not in force: a `ConfigError` where it is wrong, another where somebody refused it. */
  async function reload(text: string | undefined): Promise<Error | undefined> {
    if ((text ?? "") === reading.text && problem === undefined) return undefined;
    try {
      if (text === undefined) throw new ConfigError([{ key: "", message: "the file is gone or cannot be read" }], name);
      if (text.trim() === "") throw new ConfigError([{ key: "", message: "the file is empty" }], name);
      await apply(text);
      if (problem) log?.info(`${name} is right again and in force`);
      problem = undefined;
      return undefined;
    } catch (error) {
      const line =
        error instanceof ConfigError ? error.problems.find((one) => one.line !== undefined)?.line : undefined;
      problem = { message: (error as Error).message, ...(line === undefined ? {} : { line }) };
      log?.error(
        { ...(line === undefined ? {} : { line }), err: error },
        `the changed configuration is not in force: ${problem.message}`,
      );
      return error as Error;
    }
  }

  /** Edits the text that is on disk now, and never what somebody else has written meanwhile. */
  async function write(path: KeyPath, edit: (text: string, meaning: unknown) => string): Promise<boolean> {
    for (;;) {
      const text = (await readText(file)) ?? "";
      const before = named(() => read(text, env));
      const changed = edit(text, valueAt(before.value, path));
      if (changed === text) return false;
      const known = new Set(evaluate(before, schema()).problems.map(withoutLine));
      const after = named(() => read(changed, env));
      const unset = new Set(
        after.references
          .filter((reference) => reference.unset.length > 0)
          .map((reference) => formatKeyPath(reference.path)),
      );
      // Without a gateway around, a variable may be one that only the gateway's environment has; and what was wrong
      // before must not keep anybody from mending it.
      complain(
        evaluate(after, schema()).problems.filter(
          (one) => (applying || !unset.has(one.key)) && !known.has(withoutLine(one)),
        ),
      );
      if (!(await writeText(file, changed, async () => ((await readText(file)) ?? "") !== text))) continue;
      if (!applying) {
        reading = after;
        evaluated = undefined;
        return true;
      }
      const failure = await reload(changed);
      if (!failure) return true;
      // Where the file was wrong before, one fault is mended and stays so; what was refused does not stay.
      if (!(failure instanceof ConfigError)) {
        await writeText(file, text, async () => (await readText(file)) !== changed);
        await reload(await readText(file));
      }
      throw new PorticoError("config_error", failure.message, { status: 500, cause: failure });
    }
  }

  return {
    file,
    define,
    check: () => complain(inForce().problems),
    get current() {
      return inForce().value;
    },
    get kernel() {
      return inForce().value as unknown as KernelConfig;
    },
    section,
    get raw() {
      return reading.raw;
    },
    get composed() {
      return schema();
    },
    schema: () => printable(schema()),
    secrets: () => secretsIn(inForce().value, schema()),
    set(path, value) {
      const steps = typeof path === "string" ? parseKeyPath(path) : path;
      return inTurn(async () => {
        const unknown = explainUnknown(steps, schema());
        if (unknown) complain([unknown]);
        await write(steps, (text, meaning) => setInText(text, steps, value, meaning));
      });
    },
    unset(path) {
      const steps = typeof path === "string" ? parseKeyPath(path) : path;
      return inTurn(() => write(steps, (text) => unsetInText(text, steps)));
    },
    refresh: () => inTurn(async () => void (await reload(await readText(file).catch(() => undefined)))),
    get problem() {
      return problem;
    },
    async watch(onChange, to) {
      applying = onChange;
      log = to;
      const stop = await watchFile(
        file,
        (text) =>
          inTurn(async () => {
            // While this waited for its turn, `set` may have written: what was read before that is no longer true.
            if ((await readText(file).catch(() => undefined)) === text) await reload(text);
          }),
        (text) => isSettled(text, env),
      );
      return async () => {
        applying = undefined;
        await stop();
      };
    },
  };
}

function withoutLine({ line: _line, column: _column, ...rest }: ConfigProblem): string {
  return problemText(rest);
}

/** False while the text looks like one that is still being written. */
function isSettled(text: string | undefined, env: ConfigOptions["env"]): boolean {
  if (text === undefined || text.trim() === "") return false;
  try {
    return read(text, env) !== undefined;
  } catch {
    return false;
  }
}
