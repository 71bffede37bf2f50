/** Types that every part of the contract uses. */

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

/** The directories and files of this gateway; all absolute. */
export interface Paths {
  /** `~/.portico` unless --home or PORTICO_HOME names another directory; mode 0700. */
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly workspace: string;
  /** `<os tmp>/portico`: the only root of downloads, traces and uploads. */
  readonly tmp: string;
  /** The package's own directory: it contains the built-in plugins and the bundled hooks. */
  readonly package: string;
}
