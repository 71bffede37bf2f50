/**
 * The command line, routes, plugins and undo all change the configuration file through this one function.
 * Each write is judged as a start would judge it, carries the version it was made for, and is kept in the history.
 */
import { formatKeyPath, isAtOrBelow } from "../text/key-path.ts";
import type { Dispose } from "../contract/index.ts";
import { type Assessment, assess, type Surroundings } from "./assess.ts";
import { keysAtNextStart } from "./compose.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import { differencesBetween } from "./differences.ts";
import {
  applyEdit,
  type ConfigEdit,
  isRemoval,
  refuseLostEntries,
  refuseWholeMaps,
} from "./edits.ts";
import { ConfigError, type ConfigProblem, sameText } from "./config-error.ts";
import { errors } from "./errors.ts";
import { evaluate, explainUnknown } from "./evaluate.ts";
import { editFile } from "./file.ts";
import { type ConfigHistory, contentOf, versionOf } from "./history.ts";
import type { ChangeOrigin } from "../contract/changes.ts";
import { currentOrigin, FILE_ORIGIN, noteDifferences } from "./origin.ts";
import { type ConfigOptions, type Reading, read, type Source, variablesIn } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

export interface WriteOptions {
  /** The versions of the file that the change may be made to; any where absent. */
  expected?: readonly string[] | undefined;
  /** Default: the owner of the current work. */
  origin?: ChangeOrigin | undefined;
  /** Judges the change and tells what it would do, and writes nothing. */
  dryRun?: boolean | undefined;
  /** Parts that a start would leave out are accepted: status names them. Only what breaks a schema is refused. */
  mayLeaveOut?: boolean | undefined;
  /** A map may be removed as a whole by its own key: only where somebody typed that key. */
  mayRemoveMaps?: boolean | undefined;
}

/** What a write did. */
export interface ConfigWritten {
  /** Of the file afterwards. */
  version: string;
  changes: ConfigDifference[];
  /** The changed keys that a running gateway takes at its next start only. */
  atNextStart: string[];
  /** Brings the text before back, as if nothing had been written; undefined where nothing had to be. */
  undo: Dispose | undefined;
}

/** How the text changes: by edits of keys, or to a text of its own. */
export type TextChange =
  | { edits: readonly ConfigEdit[] }
  | { text: string; restored?: number | undefined };

export interface WriterParts {
  options: ConfigOptions;
  name: string;
  sections: SectionRegistry;
  surroundings: Surroundings;
  history: ConfigHistory | undefined;
  /** Makes what was written active; resolves with why it could not be. */
  apply(reading: Reading): Promise<Error | undefined>;
  /** Makes what lies on disk active again. */
  reapply(): Promise<unknown>;
}

interface Plan {
  before: Reading;
  after: Reading;
}

const NOTHING_FOUND: Assessment = { faults: [], unchecked: new Set() };

const isUnchanged = ({ before, after }: Plan): boolean =>
  (before.source.text ?? "") === (after.source.text ?? "");

export class ConfigWriter {
  readonly #parts: WriterParts;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Throws, with everything as it was, where the result would not be right or somebody refuses it. */
  async write(change: TextChange, options: WriteOptions): Promise<ConfigWritten> {
    const { file } = this.#parts.options;
    let plan: Plan | undefined;
    let versionId: number | undefined;
    await editFile(file, async (text) => {
      plan = await this.#plan(text, change, options);
      if (options.dryRun || isUnchanged(plan)) return undefined;
      versionId = await this.#keep(plan, change, options);
      return plan.after.source.text;
    });
    const { before, after } = plan as unknown as Plan;
    const written = this.#describe(before, after);
    if (options.dryRun) return { ...written, version: versionOf(before.source.text) };
    if (isUnchanged({ before, after })) return written;
    const undo = () => this.#takeBack(before, after, versionId);
    await this.#activate(after, undo);
    noteDifferences(written.changes);
    return { ...written, undo };
  }

  /** What the change makes of the text, judged. */
  async #plan(text: string | undefined, change: TextChange, options: WriteOptions): Promise<Plan> {
    const source: Source = { text, variables: variablesIn(this.#parts.options) };
    this.#checkVersion(text, options.expected);
    if (!("edits" in change)) {
      const before = this.#readTolerantly(source);
      const after = read({ ...source, text: change.text }, this.#parts.options);
      await this.#judge(before, after, options);
      return { before, after };
    }
    const before = read(source, this.#parts.options);
    const after = this.#edited(before, change.edits, options);
    await this.#judge(before, after, options);
    return { before, after };
  }

  #edited(before: Reading, edits: readonly ConfigEdit[], options: WriteOptions): Reading {
    const schema = this.#parts.sections.composed;
    if (!options.mayRemoveMaps) refuseWholeMaps(before.raw, edits, schema);
    let reading = before;
    for (const edit of edits) {
      const unknown = isRemoval(edit) ? undefined : explainUnknown(edit.path, schema);
      if (unknown) this.#complain([unknown]);
      const text = applyEdit(reading.source.text ?? "", edit, reading);
      reading = read({ ...reading.source, text }, this.#parts.options);
    }
    refuseLostEntries(before.raw, reading.raw, edits, schema);
    return reading;
  }

  /** A text that is to be replaced as a whole need not be one that can be read. */
  #readTolerantly(source: Source): Reading {
    try {
      return read(source, this.#parts.options);
    } catch (error) {
      if (!(error instanceof ConfigError) || source.variables instanceof Error) throw error;
      return { ...read({ ...source, text: "" }, this.#parts.options), source };
    }
  }

  #checkVersion(text: string | undefined, expected: readonly string[] | undefined): void {
    const version = versionOf(text);
    if (expected === undefined || expected.includes("*") || expected.includes(version)) return;
    throw errors.changedMeanwhile({ details: { version } });
  }

  /** Throws a `ConfigError` about what the change makes wrong. What was wrong before must not keep anybody from repairing it. */
  async #judge(before: Reading, after: Reading, { mayLeaveOut }: WriteOptions): Promise<void> {
    const { sections, surroundings } = this.#parts;
    const schema = sections.composed;
    const [old, next] = [evaluate(before, schema), evaluate(after, schema)];
    const oldFaults = mayLeaveOut
      ? NOTHING_FOUND
      : await assess(before, old, sections, surroundings);
    const { faults } = mayLeaveOut
      ? NOTHING_FOUND
      : await assess(after, next, sections, surroundings, oldFaults.unchecked);
    const known = new Set([...old.problems(), ...oldFaults.faults].map(sameText));
    const unset = this.#parts.options.unsetAllowed
      ? next.references.filter((reference) => reference.unset.length > 0)
      : [];
    const isAboutUnset = ({ key }: ConfigProblem) =>
      unset.some(({ path }) => isAtOrBelow(formatKeyPath(path), key));
    this.#complain(
      [...next.problems(), ...faults].filter(
        (problem) => !known.has(sameText(problem)) && !isAboutUnset(problem),
      ),
    );
  }

  #complain(problems: readonly ConfigProblem[]): void {
    if (problems.length > 0) throw new ConfigError(problems, this.#parts.name);
  }

  /** Keeps both texts: the one before may come from an editor, or from before there was a history. */
  async #keep({ before, after }: Plan, change: TextChange, { origin }: WriteOptions) {
    const { history } = this.#parts;
    if (!history) return undefined;
    await history.add(before.source.text ?? "", FILE_ORIGIN);
    const restored = "restored" in change ? { restored: change.restored } : {};
    return history.add(after.source.text ?? "", { ...(origin ?? currentOrigin()), ...restored });
  }

  async #activate(after: Reading, undo: () => Promise<void>): Promise<void> {
    const failure = await this.#parts.apply(after);
    if (!failure) return;
    // Where the file was wrong before, one fault of several may be repaired; what somebody refused does not stay.
    if (!(failure instanceof ConfigError)) {
      await undo();
      await this.#parts.reapply();
    }
    throw errors.notActive({ reason: failure.message }, { cause: failure });
  }

  /** Leaves what somebody else has written meanwhile. */
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
