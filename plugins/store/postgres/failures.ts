/** Describes errors of the server in plain words. */
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { MissingLock } from "../sql/locks.ts";

const BROKEN =
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENETUN|ENOENT|08|57P0[1-3]|53300|25P03)/;
const SILENT = /^(timeout exceeded|Query read timeout)/;
/** Another gateway has changed the tables in the meantime. A new connection prepares its statements again. */
const STALE_PLAN = /^cached plan must not change result type/;
/** The driver's message if the password is missing or empty. */
const NO_PASSWORD = /^SASL: .*password must be/;
/** Serialization failure, deadlock and lock timeout. */
const CONFLICTS = new Set(["40001", "40P01", "55P03"]);

export const NO_WRITES = "the server accepts no writes: it is a standby, or the user may only read";

const reasons: [RegExp, string][] = [
  [/^28/, "the server refuses the user or its password"],
  [/^3D000/, "the server has no database with this name"],
  [/^3F000/, "none of the schemas in the user's search_path exists in the database"],
  [/^25006/, NO_WRITES],
  [/^42501/, "the user may not create or change the store's tables"],
  [/^42704/, "the store's address contains a setting that the server does not know"],
  [/^53100/, "the server's disk is full"],
  [/^53300/, "the server accepts no more connections"],
  [/^(40001|40P01|55P03)/, "other transactions blocked this one for too long"],
  [/^57014/, "a statement took longer than store.statementTimeoutMs"],
  [/^57P03/, "the server is starting or stopping"],
  [/^(ENOTFOUND|EAI_)/, "its host name is unknown"],
  [/^(ECONNREFUSED|ENOENT)/, "no server listens there"],
  [/^(EHOST|ENETUN|ETIMEDOUT)/, "its host cannot be reached"],
];

/** Returns whether the connection cannot be used any more, or could not be opened. */
export function isBroken(error: unknown): boolean {
  return (
    BROKEN.test(getCode(error)) ||
    SILENT.test(getMessage(error)) ||
    STALE_PLAN.test(getMessage(error)) ||
    /^(Connection terminated|Client has)/.test(getMessage(error))
  );
}

/** Returns whether another transaction was in the way, so that a retry may succeed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(getCode(error)) || error instanceof MissingLock;
}

export function isFull(error: unknown): boolean {
  return getCode(error) === "53100";
}

/** Returns the problem behind an error of the server or the connection, or `undefined` for any other error. */
export function describeProblem(error: unknown): string | undefined {
  const code = getCode(error);
  const reason = reasons.find(([pattern]) => pattern.test(code))?.[1];
  if (reason !== undefined) return reason;
  if (NO_PASSWORD.test(getMessage(error)))
    return "the server requires a password, but the address contains none";
  if (/certificate|SSL|TLS/i.test(getMessage(error))) return `TLS failed (${getMessage(error)})`;
  if (SILENT.test(getMessage(error))) return "the server does not respond";
  if (isBroken(error)) return "the connection is broken";
  return /^[0-9A-Z]{5}$/.test(code) ? "the server refused a statement" : undefined;
}

/** Returns whether an error at the start comes from the configuration, so that waiting does not help. */
export function isMisconfigured(error: unknown): boolean {
  const message = getMessage(error);
  return (
    /^(28|3D000|3F000|42501|42704|ENOTFOUND)/.test(getCode(error)) ||
    /certificate|SSL|TLS/i.test(message) ||
    NO_PASSWORD.test(message)
  );
}

export function storeUnavailable(problem: string, cause: unknown): PorticoError {
  return errors.postgresUnavailable({ problem }, { headers: { "retry-after": "5" }, cause });
}

function getCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
