/** Keeps the active configuration in line with the file: applies a changed file, or reports why it cannot. */
import { isPorticoError } from "../errors.ts";
import type { Dispose, Logger } from "../contract/index.ts";
import type { ActiveConfig } from "./active.ts";
import { findKeysAtNextStart } from "./compose.ts";
import { findChangedKeys, type OnChange } from "./diff.ts";
import { ConfigError } from "./config-error.ts";
import { errors } from "./errors.ts";
import { evaluate } from "./evaluate.ts";
import {
  type ConfigOptions,
  identifySource,
  isSame,
  type Reading,
  read,
  type Source,
  readSource,
} from "./read.ts";
import type { SectionRegistry } from "./sections.ts";
import type { ConfigVersions } from "./versions.ts";
import { watchFiles } from "./watch.ts";

const GRACE_MS = 250;

export interface FollowerParts {
  options: ConfigOptions;
  name: string;
  sections: SectionRegistry;
  active: ActiveConfig;
  /** The queue of changes, which the writer shares: they run one at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  versions: ConfigVersions;
}

export interface FileProblem {
  message: string;
  line?: number | undefined;
}

export class ConfigFollower {
  readonly #parts: FollowerParts;
  /** The files' content when it was last examined. */
  #examined: Source;
  #problem: FileProblem | undefined;
  #onChange: OnChange | undefined;
  #log: Logger | undefined;
  /** The configuration that was active when the gateway began to follow the file. */
  #atStart: Readonly<Record<string, unknown>> | undefined;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#examined = parts.active.reading.source;
  }

  /** The reason why the file on disk is not active and the last valid configuration is. */
  get problem(): FileProblem | undefined {
    return this.#problem;
  }

  /** Applies the files whenever they change, until the returned function is called. */
  async watch(onChange: OnChange, log: Logger | undefined): Promise<Dispose> {
    const { active, options } = this.#parts;
    this.#atStart = active.evaluated.value;
    this.#onChange = onChange;
    this.#log = log;
    await this.#recordVersion(active.reading.source);
    const files = options.envFile ? [options.file, options.envFile] : [options.file];
    const stop = await watchFiles(files, () => this.#examine());
    return async () => {
      this.#onChange = undefined;
      await stop();
    };
  }

  /** Returns the changed keys that take effect at the next start of the gateway that follows the file. */
  awaitingStart(): string[] {
    if (!this.#atStart) return [];
    const { active, sections } = this.#parts;
    return findKeysAtNextStart(
      sections.composed,
      findChangedKeys(this.#atStart, active.evaluated.value),
    );
  }

  /** Applies the files as they are now; `problem` says why they cannot be applied. */
  refresh(): Promise<void> {
    return this.#parts.inTurn(async () => {
      await this.activateFromDisk();
    });
  }

  /**
   * Examines the files. Editors write in place, swap files, or remove and create them, so an incomplete file gets a
   * moment.
   */
  async #examine(): Promise<void> {
    const source = await this.#readSource();
    if (isSame(source, this.#examined)) return;
    if (!this.#isComplete(source)) await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    await this.#parts.inTurn(async () => {
      // If the file was written again meanwhile, another hint follows.
      if (isSame(await this.#readSource(), source)) await this.#activate(source);
    });
  }

  async activateFromDisk(): Promise<Error | undefined> {
    return this.#activate(await this.#readSource());
  }

  /** Activates the text that this process has just written, at once if no plugin or worker follows the file. */
  async activateWritten(reading: Reading): Promise<Error | undefined> {
    if (this.#onChange) return this.#activate(reading.source);
    this.#parts.active.activate(reading);
    return undefined;
  }

  /** Activates the files' texts. Resolves to the error if they cannot be: a `ConfigError` if they are invalid. */
  async #activate(source: Source): Promise<Error | undefined> {
    this.#examined = source;
    if (isSame(source, this.#parts.active.reading.source) && this.#problem === undefined) {
      await this.#recordVersion(source);
      return undefined;
    }
    try {
      this.#refuseMissing(source);
      await this.#apply(source);
      if (this.#problem) this.#log?.info(`${this.#parts.name} is valid again and active`);
      this.#problem = undefined;
      await this.#recordVersion(source);
      return undefined;
    } catch (error) {
      return this.#recordProblem(error as Error);
    }
  }

  #refuseMissing({ text, variables }: Source): void {
    if (variables instanceof Error) throw variables;
    if (text?.trim()) return;
    const message = `the file is ${text === undefined ? "missing" : "empty"}`;
    throw new ConfigError([{ key: "", message }], this.#parts.name);
  }

  #recordProblem(error: Error): Error {
    const { cause } = error;
    // Another worker proposed another version first, so all workers read the file again.
    if (isPorticoError(cause) && cause.code === "conflict") return error;
    const line =
      error instanceof ConfigError
        ? error.problems.find((problem) => problem.line)?.line
        : undefined;
    this.#problem = { message: error.message, line };
    this.#log?.error(
      { line, err: error },
      `the changed configuration is not active: ${error.message}`,
    );
    return error;
  }

  /** Activates the source, or throws and leaves everything unchanged. */
  async #apply(source: Source): Promise<void> {
    const { active, options, sections, name } = this.#parts;
    const reading = read(source, options);
    const { value, problems } = evaluate(reading, sections.composed);
    const violations = problems();
    if (violations.length > 0) throw new ConfigError(violations, name);
    const previous = { reading: active.reading, value: active.evaluated.value };
    const keys = findChangedKeys(previous.value, value);
    active.activate(reading);
    const haveVariablesChanged =
      String(previous.reading.source.variables) !== String(source.variables);
    if (keys.length > 0 || haveVariablesChanged) await this.#announce(keys, previous, source);
  }

  /** All processes that share the file apply the change, or all return to the active configuration. */
  async #announce(
    keys: string[],
    previous: { reading: Reading; value: Record<string, unknown> },
    source: Source,
  ): Promise<void> {
    const { active, options, name } = this.#parts;
    const announce = this.#onChange;
    if (!announce) return;
    const agree = options.link?.agree;
    const currentValue = () => active.evaluated.value;
    let hasVoted = false;
    try {
      await announce({ keys, next: currentValue(), previous: previous.value, back: false });
      hasVoted = true;
      await agree?.("config", identifySource(source));
    } catch (cause) {
      if (!hasVoted) agree?.("config", identifySource(source), cause as Error).catch(() => {});
      const refusedValue = currentValue();
      active.activate(previous.reading);
      await announce({ keys, next: currentValue(), previous: refusedValue, back: true }).catch(
        (error: Error) =>
          this.#log?.error(
            { err: error },
            `some parts of the gateway could not return to the previous configuration: ${error.message}`,
          ),
      );
      throw errors.notApplied({ name, reason: (cause as Error).message }, { cause });
    }
  }

  #recordVersion(source: Source): Promise<void> {
    return this.#parts.versions.recordActive(source, this.#log);
  }

  #isComplete(source: Source): boolean {
    try {
      return Boolean(source.text?.trim() && read(source, this.#parts.options));
    } catch {
      return false;
    }
  }

  #readSource(): Promise<Source> {
    return readSource(this.#parts.options).catch((error: Error) => ({
      text: undefined,
      variables: error,
    }));
  }
}
