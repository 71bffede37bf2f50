/** The versions of a configuration file: those that were written through the gateway, and those that an editor wrote. */
import type { ConfigDifference } from "../contract/changes.ts";
import type { Logger } from "../contract/index.ts";
import { errors } from "./errors.ts";
import { editFile } from "./file.ts";
import { compareTexts, ConfigHistory, type ConfigVersion, findUndoTarget } from "./history.ts";
import { FILE_ORIGIN } from "./origin.ts";
import { type ConfigOptions, type Source, readSource } from "./read.ts";
import type { SectionRegistry } from "./sections.ts";

/** A version of the file without its text, which holds secrets. */
export type VersionInfo = Omit<ConfigVersion, "text">;

export class ConfigVersions {
  /** The stored versions; undefined if none are stored. */
  readonly history: ConfigHistory | undefined;
  readonly #options: ConfigOptions;
  readonly #sections: SectionRegistry;
  /** The latest active text that is already in the history. */
  #recordedText: string | undefined;

  constructor(options: ConfigOptions, sections: SectionRegistry) {
    this.#options = options;
    this.#sections = sections;
    if (options.historyFile)
      this.history = new ConfigHistory(options.historyFile, () => sections.composed);
  }

  /**
   * Records a text that has become active, because an editor may have written it. A missing file has no history yet.
   */
  async recordActive({ text }: Source, log: Logger | undefined): Promise<void> {
    if (!this.history || text === undefined || text === this.#recordedText) return;
    try {
      await this.#recordTextOnDisk(this.history);
      this.#recordedText = text;
    } catch (error) {
      log?.warn(
        { err: error },
        "this version of the configuration could not be added to the history",
      );
    }
  }

  /** Returns the stored versions, oldest first. */
  async list(): Promise<VersionInfo[]> {
    return (await this.#withTexts()).map(({ text: _, ...version }) => version);
  }

  /**
   * Returns the differences between two stored versions. Default: those of the latest version from its predecessor;
   * with `from` alone, all since then.
   */
  async differences(from?: number | string, to?: number | string): Promise<ConfigDifference[]> {
    const versions = await this.#withTexts();
    const after = to === undefined ? versions.at(-1) : findVersion(versions, to);
    const before =
      from === undefined ? versions[versions.indexOf(after!) - 1] : findVersion(versions, from);
    if (!after) return [];
    return compareTexts(before?.text ?? "", after.text, this.#sections.composed);
  }

  /** Returns the version to restore: the one before the latest change, or the one with the id. */
  async restorable(id: number | undefined): Promise<{ text: string; restored: number }> {
    const versions = await this.#withTexts();
    const target = id === undefined ? findUndoTarget(versions) : findVersion(versions, id);
    if (!target) throw errors.noEarlierVersion();
    const text = target.text.trim() === "" ? "{}\n" : target.text;
    return { text, restored: target.id };
  }

  /** Lists the versions, including a text that an editor has written since the last change. */
  async #withTexts(): Promise<ConfigVersion[]> {
    if (!this.history) return [];
    await this.#recordTextOnDisk(this.history);
    return this.history.list();
  }

  /**
   * Records the text on disk as a separate version unless it already is the latest. The file is locked meanwhile: a
   * write adds its text to the history a moment before the text is on disk, and the earlier text must not end up on
   * top.
   */
  async #recordTextOnDisk(history: ConfigHistory): Promise<void> {
    const { text } = await readSource(this.#options);
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
function findVersion(
  versions: readonly ConfigVersion[],
  idOrVersion: number | string,
): ConfigVersion {
  const version = versions.findLast(
    ({ id, version }) => id === idOrVersion || version === idOrVersion,
  );
  if (version) return version;
  const ids = versions.map(({ id }) => id);
  const kept =
    ids.length === 0
      ? "No versions are stored."
      : `Versions ${ids[0]} to ${ids.at(-1)} are stored.`;
  throw errors.unknownVersion({ version: idOrVersion, kept });
}
