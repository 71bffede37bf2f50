/** Changes by people and programs: who made them, from where, and what changed. */
import type { PorticoError } from "../errors.ts";

/** `file`: an editor or another program wrote the file; `gateway`: the gateway itself, such as a generated token. */
export type ChangeDoor = "console" | "command line" | "http" | "file" | "gateway";

export interface ChangeOrigin {
  /** `owner`, or another principal once routes know more of them. */
  principal: string;
  via: ChangeDoor;
  /** The caller's address, for changes over HTTP. */
  address?: string;
}

/** One key that differs between two versions of the configuration. */
export interface ConfigDifference {
  key: string;
  kind: "added" | "changed" | "removed";
  /** As the file says it, secrets masked; absent where the key was added. */
  before?: unknown;
  /** Absent where the key was removed. */
  after?: unknown;
}

/**
 * A request that set out to change something by the owner's authority, whatever became of it. What it holds of bodies
 * may be secret.
 */
export interface ChangeAttempt {
  /** As in `x-request-id`. */
  readonly requestId: string;
  readonly origin: ChangeOrigin;
  readonly method: string;
  /** The pattern of its route. */
  readonly route: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;
  /** Why nothing was changed. */
  readonly error: PorticoError | undefined;
  /** The JSON body, where the handler has read one. */
  readonly body: unknown;
  /** What `GET` answers for the entry that the path names, before the change and after it. */
  readonly before: unknown;
  readonly after: unknown;
  /** What the response says. */
  readonly result: unknown;
  /** What it changed in the configuration, secrets masked. */
  readonly configuration: readonly ConfigDifference[];
}

/**
 * Hears of every attempt to change something, on each of the gateway's servers. The response to a change waits for it, a
 * refusal does not.
 */
export interface ChangeWatcher {
  name: string;
  attempted(attempt: ChangeAttempt): void | Promise<void>;
}
