import type { AttachedTab } from "./relay/link.ts";

/** The interface of the relay for browser control. */
export interface RelayControl {
  readonly url: string;
  readonly port: number;
  readonly connected: boolean;
  /** Returns the headers that a client's requests must have. */
  headers(): Record<string, string>;
  /** Returns the attached tabs, or none while the extension is away. */
  tabs(): readonly AttachedTab[];
  /** True while the extension is disconnected, perhaps only for a moment. */
  readonly isAway: boolean;
  /** Waits while the extension is away, until it returns or its tabs are given up. */
  waitWhileAway(): Promise<void>;
  /** The number of tabs that have been attached so far. */
  readonly attachCount: number;
  /** Waits until the changes of the last client are reset. Rejects with a 409 if no tab is attached. */
  ready(): Promise<void>;
  /** Throws a 409 if another client controls the tabs. */
  checkFree(): void;
  /** Closes all connections, because their token is no longer valid. */
  end(reason: string): void;
}
