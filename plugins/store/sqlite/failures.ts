/** Describes errors of the file in plain words. */
import type { Logger, PorticoError } from "portico";
import { errors } from "../errors.ts";

const retryAfter = { headers: { "retry-after": "5" } };

const reasons: Record<string, string> = {
  SQLITE_FULL: "the store's disk is full",
  SQLITE_IOERR: "the store's disk failed",
  SQLITE_READONLY: "the store's file is read-only",
  SQLITE_CANTOPEN: "the store's file cannot be opened",
  SQLITE_CORRUPT: "the store's file is damaged",
  SQLITE_NOTADB: "the store's file is not a database",
  SQLITE_BUSY: "the store is locked by another process",
};

/** Errors that only a person can repair. */
const LASTING = /^SQLITE_(CORRUPT|NOTADB)/;
const RESTORE_BACKUP = "Stop the gateway, and put a copy from state/backups in its place.";

export function isBusy(error: unknown): boolean {
  return getCode(error) === "SQLITE_BUSY";
}

export function isDiskError(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(getCode(error));
}

/** Returns the problem behind an error of the database and its remedy, or `undefined` for any other error. */
export function describeProblem(
  error: unknown,
): { code: string; problem: string; remedy: string } | undefined {
  const code = getCode(error);
  if (!code.startsWith("SQLITE")) return undefined;
  const problem =
    reasons[code.replace(/^(SQLITE_[A-Z]+)_.*$/, "$1")] ?? "the store could not be written";
  return { code, problem, remedy: LASTING.test(code) ? RESTORE_BACKUP : "Try again later." };
}

export function storeUnavailable(message: string, cause?: unknown): PorticoError {
  return errors.unavailable({ problem: message }, { ...retryAfter, cause });
}

export function getCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** The problem with the file, from a failure until the next commit. */
export class CurrentProblem {
  readonly #log: Logger;
  #problem: string | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  get text(): string | undefined {
    return this.#problem;
  }

  clear(): void {
    this.#problem = undefined;
  }

  /** Turns an error of the database into `store_unavailable`. Any other error is a bug, and is returned unchanged. */
  toUnavailable(error: unknown): unknown {
    const description = describeProblem(error);
    if (!description) return error;
    const { code, problem, remedy } = description;
    if (this.#problem !== problem) this.#log.error({ err: error, code }, `store: ${problem}`);
    this.#problem = problem;
    return storeUnavailable(
      `The store is not available: ${problem}. Nothing was accepted. ${remedy}`,
      error,
    );
  }
}
