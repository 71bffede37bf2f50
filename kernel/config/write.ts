/**
 * The command line, routes, plugins and undo all change the configuration file through this one function.
 * Each write is judged as a start would judge it, carries the version it was made for, and is kept in the history.
 */
import type { ChangeOrigin, ConfigDifference } from "../contract/changes.ts";
import type { Dispose } from "../contract/index.ts";
import { keysAtNextStart } from "./compose.ts";
import { ConfigError } from "./config-error.ts";
import { differencesBetween } from "./differences.ts";
import { errors } from "./errors.ts";
import { editFile } from "./file.ts";
import { type ConfigHistory, contentOf, versionOf } from "./history.ts";
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
  /** Default: the owner of the current work. */
  origin?: ChangeOrigin | undefined;
  /** Judges the change and reports what it would do, and writes nothing. */
  dryRun?: boolean | undefined;
}

/** What a write did. */
export interface ConfigWritten {
  /** Of the file afterwards. */
  version: string;
  changes: ConfigDifference[];
  /** The changed keys that take effect only at the next start. */
  atNextStart: string[];
  /** Brings the text before back, as if nothing had been written; undefined where nothing had to be. */
  undo: Dispose | undefined;
}

export interface WriterParts {
  options: ConfigOptions;
  name: string;
  sections: SectionRegistry;
  /** One change at a time, with those that the follower applies. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  history: ConfigHistory | undefined;
  /** Makes what was written active; resolves with why it could not be. */
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
   * One write at a time, over all processes of the gateway. Throws, with everything as it was, where the result would
   * not be right or somebody refuses it.
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
      versionId = await this.#keep(plan, change, options);
      return plan.after.source.text;
    });
    const { before, after } = plan as unknown as ChangePlan;
    const written = this.#describe(before, after);
    if (options.dryRun) return { ...written, version: versionOf(before.source.text) };
    if (isUnchanged({ before, after })) return written;
    const undo = () => this.#takeBack(before, after, versionId);
    await this.#activate(after, undo);
    noteDifferences(written.changes);
    return { ...written, undo };
  }

  /** Keeps both texts: the one before may come from an editor, or from before there was a history. */
  async #keep({ before, after }: ChangePlan, change: TextChange, { origin }: WriteOptions) {
    const { history } = this.#parts;
    if (!history) return undefined;
    await history.add(before.source.text ?? "", FILE_ORIGIN);
    const restored = "restored" in change ? { restored: change.restored } : {};
    return history.add(after.source.text ?? "", { ...(origin ?? currentOrigin()), ...restored });
  }

  async #activate(after: Reading, undo: () => Promise<void>): Promise<void> {
    const failure = await this.#parts.apply(after);
    if (!failure) return;
    // If the file was invalid before, a write may repair one fault of several; a refused change does not stay.
    if (!(failure instanceof ConfigError)) {
      await undo();
      await this.#parts.reapply();
    }
    throw errors.notActive({ reason: failure.message }, { cause: failure });
  }

  /** Does not overwrite what another process has written in the meantime. */
  async #takeBack(before: Reading, after: Reading, versionId: number | undefined): Promise<void> {
    const { options, history } = this.#parts;
    const isBack = await editFile(options.file, async (text) =>
      text === after.source.text ? (before.source.text ?? "{}\n") : undefined,
    );
    if (isBack && versionId !== undefined) await history?.drop(versionId);
  }

  #describe(before: Reading, after: Reading): ConfigWritten {
    const schema = this.#parts.sections.composed;
    const previous = contentOf(before.source.text ?? "") ?? {};
    const changes = differencesBetween(previous, after.raw, schema);
    return {
      version: versionOf(after.source.text),
      changes,
      atNextStart: keysAtNextStart(
        schema,
        changes.map(({ key }) => key),
      ),
      undo: undefined,
    };
  }
}
