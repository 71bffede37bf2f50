/**
 * The one error class. Whoever throws names a code; the kernel's table, or the plugin's that declares the code, gives the
 * HTTP status.
 * Messages are written for the person who must act: what was wrong, what to do. They are shown to callers as they
 * are, so they never hold secrets, stacks or paths of the host; a `cause` is only ever logged.
 */

const STATUS = {
  invalid_json: 400,
  invalid_request_error: 400,
  unauthorized: 401,
  forbidden: 403,
  forbidden_host: 403,
  forbidden_origin: 403,
  blocked_by_hook: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  body_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  precondition_required: 428,
  too_many_attempts: 429,
  rate_limit_exceeded: 429,
  internal_error: 500,
  not_implemented: 501,
  hook_unavailable: 503,
  service_unavailable: 503,
  too_many_connections: 503,
  timeout: 504,
} as const;

/** The kernel's codes. A plugin declares its own in `errors` of its definition, or names the status at the throw. */
export type ErrorCode = keyof typeof STATUS;

export interface PorticoErrorOptions {
  /** Default: the table's status for the code, 500 for a code that is not in it. */
  status?: number;
  /** The offending field as a path: `messages[2].role`. */
  param?: string;
  /** The family (`authentication_error`), for surfaces whose error form has one. */
  type?: string;
  /** Further response headers, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Further fields of the error object in the response. */
  details?: Record<string, unknown>;
  /** The name of the limit that refused: `requestsPerMinute`, `budget`. */
  limit?: string | undefined;
  /** What lay below; logged, never shown. */
  cause?: unknown;
}

/** The codes of plugins, as their definitions declare them: each table for as long as its plugin is loaded. */
const declared = new Set<Readonly<Record<string, number>>>();

/** Adds a plugin's codes. The kernel's own cannot be changed. */
export function declareErrors(table: Readonly<Record<string, number>>): () => void {
  const own = { ...table };
  declared.add(own);
  return () => void declared.delete(own);
}

/** The status that belongs to a code; 500 for an unknown one. */
export function statusOf(code: string): number {
  if (Object.hasOwn(STATUS, code)) return STATUS[code as ErrorCode];
  for (const table of declared) if (Object.hasOwn(table, code)) return table[code] as number;
  return 500;
}

// The same class can be there twice (tests, a bundled copy): the symbol tells it, `instanceof` would not.
const MARK = Symbol.for("portico.error");

/** An error that may be shown to the caller. Everything else becomes `internal_error`. */
export class PorticoError extends Error {
  readonly code: string;
  readonly status: number;
  readonly param: string | undefined;
  readonly type: string | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly details: Record<string, unknown> | undefined;
  readonly limit: string | undefined;

  constructor(code: ErrorCode | (string & {}), message: string, options: PorticoErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? statusOf(code);
    this.param = options.param;
    this.type = options.type;
    this.headers = options.headers;
    this.details = options.details;
    this.limit = options.limit;
  }
}
Object.defineProperty(PorticoError.prototype, "name", {
  value: "PorticoError",
  configurable: true,
  writable: true,
});
Object.defineProperty(PorticoError.prototype, MARK, { value: true });

/** What was thrown, as an error: it may be anything. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  try {
    return new Error(
      typeof thrown === "string"
        ? thrown
        : `threw ${JSON.stringify(thrown) ?? String(thrown)}, which is no Error`,
    );
  } catch {
    return new Error("threw something that is no Error");
  }
}

/** True for a `PorticoError`, whichever copy of the class made it. */
export function isPorticoError(value: unknown): value is PorticoError {
  return (
    typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true
  );
}
