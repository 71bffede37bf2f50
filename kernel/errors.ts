/**
 * The one error class and the one table of codes. Whoever throws names a code; the table gives the HTTP status.
 * Messages are written for the person who must act: what was wrong, what to do. They are shown to callers as they
 * are, so they never hold secrets, stacks or paths of the host; a `cause` is only ever logged.
 */

const STATUS = {
  invalid_json: 400,
  invalid_request_error: 400,
  unauthorized: 401,
  invalid_api_key: 401,
  forbidden: 403,
  forbidden_host: 403,
  forbidden_origin: 403,
  blocked_by_hook: 403,
  navigation_blocked: 403,
  evaluate_disabled: 403,
  not_found: 404,
  model_not_found: 404,
  no_mapping: 404,
  tab_not_found: 404,
  profile_not_found: 404,
  ref_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  browser_not_running: 409,
  trace_running: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  action_failed: 422,
  too_many_attempts: 429,
  rate_limit_exceeded: 429,
  internal_error: 500,
  not_implemented: 501,
  library_unavailable: 501,
  upstream_error: 502,
  upstream_auth: 502,
  service_unavailable: 503,
  store_unavailable: 503,
  upstream_overloaded: 503,
  browser_disabled: 503,
  node_unavailable: 503,
  upstream_timeout: 504,
  timeout: 504,
} as const;

/** The codes of the table. A plugin may use one of its own; it then names the status too. */
export type ErrorCode = keyof typeof STATUS;

export interface PorticoErrorOptions {
  /** Default: the table's status for the code, 500 for a code that is not in it. */
  status?: number;
  /** The offending field as a path: `messages[2].role`. */
  param?: string;
  /** The family (`authentication_error`), for surfaces whose error form has one. */
  type?: string;
  /** Further answer headers, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Further fields of the error object in the answer. */
  details?: Record<string, unknown>;
  /** What lay below; logged, never shown. */
  cause?: unknown;
}

/** The status that belongs to a code; 500 for an unknown one. */
export function statusOf(code: string): number {
  return Object.hasOwn(STATUS, code) ? STATUS[code as ErrorCode] : 500;
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

  constructor(code: ErrorCode | (string & {}), message: string, options: PorticoErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? statusOf(code);
    this.param = options.param;
    this.type = options.type;
    this.headers = options.headers;
    this.details = options.details;
  }
}
Object.defineProperty(PorticoError.prototype, "name", { value: "PorticoError", configurable: true, writable: true });
Object.defineProperty(PorticoError.prototype, MARK, { value: true });

/** True for a `PorticoError`, whichever copy of the class made it. */
export function isPorticoError(value: unknown): value is PorticoError {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}
