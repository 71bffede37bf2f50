/**
 * Writes the configuration file. The command line, routes, plugins and undo all change it through this module. Each
 * write is checked as a start would check it, is conditional on the expected version, and is stored in the history.
 */
import type { ChangeOrigin, ConfigDifference } from "../contract/changes.ts";
import type { Dispose } from "../contract/index.ts";
import { findKeysAtNextStart } from "./compose.ts";
import { ConfigError } from "./config-error.ts";
import { findDifferences } from "./differences.ts";
import { errors } from "./errors.ts";
import { editFile } from "./file.ts";
import { type ConfigHistory, parseContent, computeVersion } from "./history.ts";
import { currentOrigin, FILE_ORIGIN, noteDifferences } from "./origin.ts";
import {
  type ChangePlan,
  isUnchanged,
  type PlanOptions,
  planChange,
  type TextChange,
} from "./plan.ts";
import type { ConfigOptions, Reading } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

export interface WriteOptions extends PlanOptions {
  /** Default: the origin of the current work. */
  origin?: ChangeOrigin | undefined;
  /** Checks the change and reports its effect, but writes nothing. */
  dryRun?: boolean | undefined;
}

/** The result of a write. */
export interface ConfigWritten {
  /** The version of the file after the write. */
  version: string;
  changes: ConfigDifference[];
  /** The changed keys that take effect only at the next start. */
  atNextStart: string[];
  /** Restores the previous text, as if nothing had been written; undefined if nothing was written. */
  undo: Dispose | undefined;
}

export interface WriterParts {
  options: ConfigOptions;
  name: string;
  sections: SectionRegistry;
  /** The queue of changes, which the follower shares: they run one at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  history: ConfigHistory | undefined;
  /** Activates the written text. Resolves to the error if it cannot be activated. */
  apply(reading: Reading): Promise<Error | undefined>;
  /** Activates the file on disk again. */
  reapply(): Promise<unknown>;
}

export class ConfigWriter {
  readonly #parts: WriterParts;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /**
   * Writes a change. Only one process of the gateway writes at a time. Throws, and leaves everything unchanged, if the
   * result would be invalid or a plugin or worker refuses it.
   */
  async write(change: TextChange, options: WriteOptions): Promise<ConfigWritten> {
    const place = this.#parts.options.link?.workers.place("configuration", 1);
    await place?.granted;
    return this.#parts.inTurn(() => this.#write(change, options)).finally(() => place?.leave());
  }

  async #write(change: TextChange, options: WriteOptions): Promise<ConfigWritten> {
    const { file } = this.#parts.options;
    let plan: ChangePlan | undefined;
    let versionId: number | undefined;
    await editFile(file, async (text) => {
      plan = await planChange(text, change, options, this.#parts);
      if (options.dryRun || isUnchanged(plan)) return undefined;
      versionId = await this.#addToHistory(plan, change, options);
      return plan.after.source.text;
    });
    const { before, after } = plan as unknown as ChangePlan;
    const result = this.#describe(before, after);
    if (options.dryRun) return { ...result, version: computeVersion(before.source.text) };
    if (isUnchanged({ before, after })) return result;
    const undo = () => this.#undoWrite(before, after, versionId);
    await this.#activate(after, undo);
    noteDifferences(result.changes);
    return { ...result, undo };
  }

  /** Stores both texts, because the previous one may come from an editor, or be older than the history. */
  async #addToHistory({ before, after }: ChangePlan, change: TextChange, { origin }: WriteOptions) {
    const { history } = this.#parts;
    if (!history) return undefined;
    await history.add(before.source.text ?? "", FILE_ORIGIN);
    const restored = "restored" in change ? { restored: change.restored } : {};
    return history.add(after.source.text ?? "", { ...(origin ?? currentOrigin()), ...restored });
  }

  async #activate(after: Reading, undo: () => Promise<void>): Promise<void> {
    const failure = await this.#parts.apply(after);
    if (!failure) return;
    // If the file was invalid before, a write may repair one of several faults, and stays. A refused change is undone.
    if (!(failure instanceof ConfigError)) {
      await undo();
      await this.#parts.reapply();
    }
    throw errors.notActive({ reason: failure.message }, { cause: failure });
  }

  /** Undoes a write, unless another process has written since. */
  async #undoWrite(before: Reading, after: Reading, versionId: number | undefined): Promise<void> {
    const { options, history } = this.#parts;
    const isUndone = await editFile(options.file, async (text) =>
      text === after.source.text ? (before.source.text ?? "{}\n") : undefined,
    );
    if (isUndone && versionId !== undefined) await history?.drop(versionId);
  }

  #describe(before: Reading, after: Reading): ConfigWritten {
    const schema = this.#parts.sections.composed;
    const previous = parseContent(before.source.text ?? "") ?? {};
    const changes = findDifferences(previous, after.raw, schema);
    return {
      version: computeVersion(after.source.text),
      changes,
      atNextStart: findKeysAtNextStart(
        schema,
        changes.map(({ key }) => key),
      ),
      undo: undefined,
    };
  }
}
