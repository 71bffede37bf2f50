/** Keeps the active configuration what the file says: applies a changed file, or says why it cannot. */
import { isPorticoError } from "../errors.ts";
import type { Dispose, Logger } from "../contract/index.ts";
import type { ActiveConfig } from "./active.ts";
import { keysAtNextStart } from "./compose.ts";
import { changedKeys, type OnChange } from "./diff.ts";
import { ConfigError } from "./config-error.ts";
import { errors } from "./errors.ts";
import { evaluate } from "./evaluate.ts";
import {
  type ConfigOptions,
  idOf,
  isSame,
  type Reading,
  read,
  type Source,
  sourceOf,
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
  /** One change at a time, with those that are written through here. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  versions: ConfigVersions;
}

export interface FileProblem {
  message: string;
  line?: number | undefined;
}

export class ConfigFollower {
  readonly #parts: FollowerParts;
  /** What was on disk when it was last judged. */
  #seen: Source;
  #problem: FileProblem | undefined;
  #onChange: OnChange | undefined;
  #log: Logger | undefined;
  /** What was active when a gateway began to follow the file. */
  #atStart: Readonly<Record<string, unknown>> | undefined;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#seen = parts.active.reading.source;
  }

  /** Why the file on disk is not active, while the last good configuration is. */
  get problem(): FileProblem | undefined {
    return this.#problem;
  }

  /** Applies the files whenever they change, until the result is called. */
  async watch(onChange: OnChange, log: Logger | undefined): Promise<Dispose> {
    const { active, options } = this.#parts;
    this.#atStart = active.evaluated.value;
    this.#onChange = onChange;
    this.#log = log;
    await this.#recordVersion(active.reading.source);
    const files = options.envFile ? [options.file, options.envFile] : [options.file];
    const stop = await watchFiles(files, () => this.#look());
    return async () => {
      this.#onChange = undefined;
      await stop();
    };
  }

  /** Changed keys that wait for the next start of the gateway that follows the file. */
  awaitingStart(): string[] {
    if (!this.#atStart) return [];
    const { active, sections } = this.#parts;
    return keysAtNextStart(sections.composed, changedKeys(this.#atStart, active.evaluated.value));
  }

  /** Applies what is on disk now; `problem` says why it cannot be applied. */
  refresh(): Promise<void> {
    return this.#parts.inTurn(async () => {
      await this.takeFromDisk();
    });
  }

  /** Editors write in place, swap files, or remove and create them: a file that looks incomplete gets a moment. */
  async #look(): Promise<void> {
    const source = await this.#onDisk();
    if (isSame(source, this.#seen)) return;
    if (!this.#isWhole(source)) await new Promise((resolve) => setTimeout(resolve, GRACE_MS));
    await this.#parts.inTurn(async () => {
      // While this waited, the file may have been written again: there is a hint for that too.
      if (isSame(await this.#onDisk(), source)) await this.#take(source);
    });
  }

  async takeFromDisk(): Promise<Error | undefined> {
    return this.#take(await this.#onDisk());
  }

  /** Activates what this process has just written: at once if no plugin or worker follows the file. */
  async takeWritten(reading: Reading): Promise<Error | undefined> {
    if (this.#onChange) return this.#take(reading.source);
    this.#parts.active.activate(reading);
    return undefined;
  }

  /** Makes the files' texts active. Resolves with why they are not: a `ConfigError` where they are wrong. */
  async #take(source: Source): Promise<Error | undefined> {
    this.#seen = source;
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
      return this.#refused(error as Error);
    }
  }

  #refuseMissing({ text, variables }: Source): void {
    if (variables instanceof Error) throw variables;
    if (text?.trim()) return;
    const message = `the file is ${text === undefined ? "gone" : "empty"}`;
    throw new ConfigError([{ key: "", message }], this.#parts.name);
  }

  #refused(error: Error): Error {
    const { cause } = error;
    // Another worker was faster and proposed another version, so all of them read the file again.
    if (isPorticoError(cause) && cause.code === "conflict") return error;
    const line =
      error instanceof ConfigError ? error.problems.find((each) => each.line)?.line : undefined;
    this.#problem = { message: error.message, line };
    this.#log?.error(
      { line, err: error },
      `the changed configuration is not active: ${error.message}`,
    );
    return error;
  }

  /** Makes it active, or throws and leaves everything as it was. */
  async #apply(source: Source): Promise<void> {
    const { active, options, sections, name } = this.#parts;
    const reading = read(source, options);
    const { value, problems } = evaluate(reading, sections.composed);
    const wrong = problems();
    if (wrong.length > 0) throw new ConfigError(wrong, name);
    const before = { reading: active.reading, value: active.evaluated.value };
    const keys = changedKeys(before.value, value);
    active.activate(reading);
    const haveVariablesChanged =
      String(before.reading.source.variables) !== String(source.variables);
    if (keys.length > 0 || haveVariablesChanged) await this.#announce(keys, before, source);
  }

  /** All processes that share the file apply the change, or all return to the active configuration. */
  async #announce(
    keys: string[],
    before: { reading: Reading; value: Record<string, unknown> },
    source: Source,
  ): Promise<void> {
    const { active, options, name } = this.#parts;
    const announce = this.#onChange;
    if (!announce) return;
    const agree = options.link?.agree;
    const next = () => active.evaluated.value;
    let hasVoted = false;
    try {
      await announce({ keys, next: next(), previous: before.value, back: false });
      hasVoted = true;
      await agree?.("config", idOf(source));
    } catch (cause) {
      if (!hasVoted) agree?.("config", idOf(source), cause as Error).catch(() => {});
      const refused = next();
      active.activate(before.reading);
      await announce({ keys, next: next(), previous: refused, back: true }).catch((error: Error) =>
        this.#log?.error(
          { err: error },
          `some parts could not return to the active configuration: ${error.message}`,
        ),
      );
      throw errors.notApplied({ name, reason: (cause as Error).message }, { cause });
    }
  }

  #recordVersion(source: Source): Promise<void> {
    return this.#parts.versions.recordActive(source, this.#log);
  }

  #isWhole(source: Source): boolean {
    try {
      return Boolean(source.text?.trim() && read(source, this.#parts.options));
    } catch {
      return false;
    }
  }

  #onDisk(): Promise<Source> {
    return sourceOf(this.#parts.options).catch((error: Error) => ({
      text: undefined,
      variables: error,
    }));
  }
}
