/** The operations of `portico config` on a configuration, wherever it is stored. */
import type {
  ConfigDifference,
  ConfigProblem,
  ConfigWritten,
  PortableConfig,
  VersionInfo,
} from "portico";

/** The result of a change, or of its dry run. */
export interface Change extends Omit<ConfigWritten, "undo"> {
  /** The reason why the running gateway did not confirm the change. */
  unconfirmed?: string | undefined;
}

export interface ConfigBackend {
  get(key: string | undefined, reveal: boolean): Promise<unknown>;
  /** The returned `value` is masked. */
  set(key: string, words: string, dryRun: boolean): Promise<Change & { value: unknown }>;
  unset(key: string, dryRun: boolean): Promise<Change>;
  /** Exports the configuration without secrets. */
  export(): Promise<PortableConfig>;
  /** Replaces the configuration, but keeps the present secrets. */
  import(configuration: Readonly<Record<string, unknown>>, dryRun: boolean): Promise<Change>;
  undo(to: number | undefined, dryRun: boolean): Promise<Change>;
  /** Lists the versions, oldest first. */
  versions(): Promise<VersionInfo[]>;
  differences(from?: number, to?: number): Promise<ConfigDifference[]>;
  /** Returns every problem, and the file that was checked. */
  validate(): Promise<{ file: string; problems: ConfigProblem[] }>;
}
