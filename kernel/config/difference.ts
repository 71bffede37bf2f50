/** One key that differs between two versions of the configuration. */
export interface ConfigDifference {
  key: string;
  kind: "added" | "changed" | "removed";
  /** As the file says it, secrets masked; absent where the key was added. */
  before?: unknown;
  /** Absent where the key was removed. */
  after?: unknown;
}
