import type { AttachedTab } from "./relay/link.ts";

/** The relay as browser control sees it. */
export interface RelayControl {
  readonly url: string;
  readonly port: number;
  readonly connected: boolean;
  /** What a client's requests must carry. */
  headers(): Record<string, string>;
  /** None while the extension is away. */
  tabs(): readonly AttachedTab[];
  /** The extension has disconnected, perhaps only for a moment. */
  readonly isAway: boolean;
  /** Waits while the extension is away. */
  settled(): Promise<void>;
  /** Goes up with every tab that is handed over. */
  readonly clicks: number;
  /** 409 where no tab is attached. Waits until the tabs are free of what the last client has set. */
  ready(): Promise<void>;
  /** 409 if another client controls the tabs. */
  checkFree(): void;
  /** Ends all connections, whose token is no longer right. */
  end(reason: string): void;
}
