/** The versions of a configuration file: those that were written through the gateway, and those that an editor wrote. */
import type { ConfigDifference } from "../contract/changes.ts";
import type { Logger } from "../contract/index.ts";
import { errors } from "./errors.ts";
import { editFile } from "./file.ts";
import { changesBetween, ConfigHistory, type ConfigVersion, versionBefore } from "./history.ts";
import { FILE_ORIGIN } from "./origin.ts";
import { type ConfigOptions, type Source, sourceOf } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

/** A version of the file without its text, which holds secrets. */
export type VersionInfo = Omit<ConfigVersion, "text">;

export class ConfigVersions {
  /** Undefined if no versions are kept. */
  readonly history: ConfigHistory | undefined;
  readonly #options: ConfigOptions;
  readonly #sections: SectionRegistry;
  /** The latest active text that is known to be in the history. */
  #recordedText: string | undefined;

  constructor(options: ConfigOptions, sections: SectionRegistry) {
    this.#options = options;
    this.#sections = sections;
    if (options.historyFile)
      this.history = new ConfigHistory(options.historyFile, () => sections.composed);
  }

  /** Keeps a text that has become active, since an editor may have written it. A missing file has no history yet. */
  async recordActive({ text }: Source, log: Logger | undefined): Promise<void> {
    if (!this.history || text === undefined || text === this.#recordedText) return;
    try {
      await this.#recordTextOnDisk(this.history);
      this.#recordedText = text;
    } catch (error) {
      log?.warn({ err: error }, "this version of the configuration could not be kept");
    }
  }

  /** The kept versions, oldest first. */
  async list(): Promise<VersionInfo[]> {
    return (await this.#withTexts()).map(({ text: _, ...version }) => version);
  }

  /** What changed between two kept versions. Default: what the latest one changed; with `from` alone, since then. */
  async differences(from?: number | string, to?: number | string): Promise<ConfigDifference[]> {
    const versions = await this.#withTexts();
    const after = to === undefined ? versions.at(-1) : pick(versions, to);
    const before =
      from === undefined ? versions[versions.indexOf(after!) - 1] : pick(versions, from);
    if (!after) return [];
    return changesBetween(before?.text ?? "", after.text, this.#sections.composed);
  }

  /** The version that `restore` brings back: the one before the latest change, or the one with the id. */
  async restorable(id: number | undefined): Promise<{ text: string; restored: number }> {
    const versions = await this.#withTexts();
    const target = id === undefined ? versionBefore(versions) : pick(versions, id);
    if (!target) throw errors.noEarlierVersion();
    const text = target.text.trim() === "" ? "{}\n" : target.text;
    return { text, restored: target.id };
  }

  /** Includes what an editor has written since the last change. */
  async #withTexts(): Promise<ConfigVersion[]> {
    if (!this.history) return [];
    await this.#recordTextOnDisk(this.history);
    return this.history.list();
  }

  /**
   * Keeps the text on disk as a version of its own unless it is the latest already. The file is locked meanwhile: a
   * write puts its text into the history a moment before it is on disk, and the text before it must not end up on top.
   */
  async #recordTextOnDisk(history: ConfigHistory): Promise<void> {
    const { text } = await sourceOf(this.#options);
    const latest = (await history.list()).at(-1)?.text;
    if (text === undefined || text === latest) return;
    const record = async (current = text) => {
      await history.add(current, FILE_ORIGIN);
      return undefined;
    };
    // A file that cannot be locked is in a directory that cannot be written to.
    await editFile(this.#options.file, record).catch(() => record());
  }
}

/** Finds a version by its id or by the name of its content. */
function pick(versions: readonly ConfigVersion[], wanted: number | string): ConfigVersion {
  const version = versions.findLast((each) => each.id === wanted || each.version === wanted);
  if (version) return version;
  const ids = versions.map(({ id }) => id);
  const kept =
    ids.length === 0 ? "No versions are kept." : `Versions ${ids[0]} to ${ids.at(-1)} are kept.`;
  throw errors.unknownVersion({ version: wanted, kept });
}
