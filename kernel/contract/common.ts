/** What every part of the contract speaks of. */

/** Undoes one registration. Calling it twice is harmless. */
export type Dispose = () => void | Promise<void>;

/** A pino-shaped logger whose lines are redacted. */
export interface Logger {
  trace(fields: object | string, message?: string): void;
  debug(fields: object | string, message?: string): void;
  info(fields: object | string, message?: string): void;
  warn(fields: object | string, message?: string): void;
  error(fields: object | string, message?: string): void;
  fatal(fields: object | string, message?: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

/** Where things lie on this machine; all absolute. */
export interface Paths {
  /** `~/.portico` unless told otherwise; mode 0700. */
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly workspace: string;
  /** `<os tmp>/portico`: the only root that downloads, traces and uploads may lie under. */
  readonly tmp: string;
  /** The package's own directory: built-in plugins and bundled hooks lie in it. */
  readonly package: string;
}
