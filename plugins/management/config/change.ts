/** What `portico config` can do, wherever the configuration is. */
import type {
  ConfigDifference,
  ConfigProblem,
  ConfigWritten,
  PortableConfig,
  VersionInfo,
} from "portico";

/** What a change did, or would do. */
export interface Change extends Omit<ConfigWritten, "undo"> {
  /** Why it is not known whether the running gateway has the change. */
  unconfirmed?: string | undefined;
}

export interface ConfigDoor {
  get(key: string | undefined, reveal: boolean): Promise<unknown>;
  /** `value`: as it may be shown. */
  set(key: string, words: string, dryRun: boolean): Promise<Change & { value: unknown }>;
  unset(key: string, dryRun: boolean): Promise<Change>;
  /** Without secrets. */
  export(): Promise<PortableConfig>;
  /** Secrets that are here already stay. */
  import(configuration: Readonly<Record<string, unknown>>, dryRun: boolean): Promise<Change>;
  undo(to: number | undefined, dryRun: boolean): Promise<Change>;
  /** Oldest first. */
  versions(): Promise<VersionInfo[]>;
  differences(from?: number, to?: number): Promise<ConfigDifference[]>;
  /** Everything that is wrong, and what was looked at. */
  validate(): Promise<{ file: string; problems: ConfigProblem[] }>;
}
