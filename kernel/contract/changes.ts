/** Changes by people and programs: their author, their origin, and their content. */
import type { PorticoError } from "../errors.ts";

/**
 * The origin of a change. `file`: an editor or another program wrote the file; `gateway`: the gateway itself, for
 * example for a generated token.
 */
export type ChangeDoor = "console" | "command line" | "http" | "file" | "gateway";

export interface ChangeOrigin {
  /** The principal that made the change. */
  principal: string;
  via: ChangeDoor;
  /** The caller's address, for changes over HTTP. */
  address?: string;
}

/** One key that differs between two versions of the configuration. */
export interface ConfigDifference {
  key: string;
  kind: "added" | "changed" | "removed";
  /** The value in the file, with secrets masked; absent if the key was added. */
  before?: unknown;
  /** Absent if the key was removed. */
  after?: unknown;
}

/**
 * A request that tried to change something with the owner's credentials, whether or not it succeeded. The bodies in it
 * may contain secrets.
 */
export interface ChangeAttempt {
  /** The id that is sent as `x-request-id`. */
  readonly requestId: string;
  readonly origin: ChangeOrigin;
  readonly method: string;
  /** The pattern of the route. */
  readonly route: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly status: number;
  /** The error, if the request failed. */
  readonly error: PorticoError | undefined;
  /** The JSON body, if the handler has read one. */
  readonly body: unknown;
  /** The response of `GET` for the entry that the path names, before the change and after it. */
  readonly before: unknown;
  readonly after: unknown;
  /** The content of the response. */
  readonly result: unknown;
  /** The changes to the configuration, with secrets masked. */
  readonly configuration: readonly ConfigDifference[];
}

/**
 * Receives every attempt to change something, on each of the gateway's servers. The response to a change waits for it;
 * that of a refusal does not.
 */
export interface ChangeWatcher {
  name: string;
  attempted(attempt: ChangeAttempt): void | Promise<void>;
}
