/**
 * The one error class, and the tables that its instances come from. A table names every situation in which an area
 * refuses, with the code, the HTTP status and the message.
 * A message is for the person who must act: it says what was wrong and what to do. Callers see it as it is, so it never
 * holds secrets, stacks or paths of the host. A `cause` is only logged.
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
  storage_full: 507,
} as const;

/** The kernel's codes. A plugin declares its own in `errors` of its definition, or passes the status when it throws. */
export type ErrorCode = keyof typeof STATUS;

export interface PorticoErrorOptions {
  /** Default: the status of the code in the table, or 500 if the code is not in it. */
  status?: number;
  /** The offending field as a path: `messages[2].role`. */
  param?: string;
  /** The family (`authentication_error`), for APIs whose error format has one. */
  type?: string;
  /** Further response headers, such as `retry-after`. */
  headers?: Record<string, string>;
  /** Further fields of the error object in the response. */
  details?: Record<string, unknown>;
  /** The name of the limit that caused the refusal: `requestsPerMinute`, `budget`. */
  limit?: string | undefined;
  /** The underlying error; logged, never shown. */
  cause?: unknown;
}

/** One situation in which a request is refused. */
export interface ErrorEntry {
  readonly code: ErrorCode | (string & {});
  /** Optional for the kernel's codes, whose status is fixed. */
  readonly status?: number;
  /** The family, for APIs whose error format has one: `rate_limit_error`. */
  readonly type?: string;
  /** A placeholder such as `{name}` stands for a value that the thrower passes. */
  readonly message: string;
}

type ErrorValues<Message extends string> = Message extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ErrorValues<Rest>
  : never;

/** Creates the error of one situation. The placeholders of its message are required arguments. */
type ErrorFactory<Message extends string> = [ErrorValues<Message>] extends [never]
  ? (options?: PorticoErrorOptions) => PorticoError
  : (
      values: Readonly<Record<ErrorValues<Message>, string | number>>,
      options?: PorticoErrorOptions,
    ) => PorticoError;

export type ErrorTable<Entries extends Readonly<Record<string, ErrorEntry>>> = {
  readonly [Name in keyof Entries]: ErrorFactory<Entries[Name]["message"]>;
};

/** The HTTP status of each code. */
type Statuses = Readonly<Record<string, number>>;

/** The value of `errors` in a plugin's definition: a table, or only the statuses of its codes. */
export type DeclaredErrors = Statuses | ErrorTable<Readonly<Record<string, ErrorEntry>>>;

// A table may come from another copy of this module, as `PorticoError` may.
const STATUSES = Symbol.for("portico.error-statuses");
const ENTRIES = Symbol.for("portico.error-entries");

/** Returns the situations of a table, for listings; for a plain list of statuses, its codes. */
export function entriesOf(errors: DeclaredErrors): ErrorEntry[] {
  const entries = (errors as { [ENTRIES]?: Record<string, ErrorEntry> })[ENTRIES];
  if (entries) return Object.values(entries);
  return Object.entries(errors as Statuses).map(([code, status]) => ({
    code,
    status,
    message: "",
  }));
}

/** The codes that plugins declare. Each table is present as long as its plugin is loaded. */
const declaredStatuses = new Set<Statuses>();

/** Adds a plugin's codes until the returned function is called. The kernel's own codes keep their status. */
export function declareErrors(errors: DeclaredErrors): () => void {
  // Each declaration has its own copy, because two versions of a plugin may declare the same table, and one of them
  // ends first.
  const statuses = { ...((errors as { [STATUSES]?: Statuses })[STATUSES] ?? (errors as Statuses)) };
  declaredStatuses.add(statuses);
  return () => void declaredStatuses.delete(statuses);
}

/** Returns the status of a code; 500 for an unknown one. */
export function statusOf(code: string): number {
  if (Object.hasOwn(STATUS, code)) return STATUS[code as ErrorCode];
  for (const table of declaredStatuses)
    if (Object.hasOwn(table, code)) return table[code] as number;
  return 500;
}

// The class may be loaded twice (tests, a bundled copy). The symbol is the same in both, where `instanceof` fails.
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

  /**
   * Makes an area's table of errors: one function per situation, which returns the error to throw.
   *
   * @example
   * export const errors = PorticoError.table({
   *   unknownJob: {
   *     code: "job_not_found",
   *     status: 404,
   *     message: "There is no job `{id}`. `portico jobs list` shows all jobs.",
   *   },
   * });
   * throw errors.unknownJob({ id }, { param: "id" });
   */
  static table<const Entries extends Readonly<Record<string, ErrorEntry>>>(
    entries: Entries,
  ): ErrorTable<Entries> {
    const table: Record<string, unknown> = {};
    const statuses: Record<string, number> = {};
    for (const [name, entry] of Object.entries(entries)) {
      const { code, status } = entry;
      if (status !== undefined) statuses[code] = status;
      table[name] = errorFactory(entry);
    }
    Object.defineProperty(table, STATUSES, { value: statuses });
    Object.defineProperty(table, ENTRIES, { value: entries });
    return table as ErrorTable<Entries>;
  }
}

function errorFactory({ code, status, type, message }: ErrorEntry) {
  const defaults: PorticoErrorOptions = {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
  };
  const createError = (text: string, options: PorticoErrorOptions = {}) =>
    new PorticoError(code, text, { ...defaults, ...options });
  if (!PLACEHOLDER.test(message))
    return (options?: PorticoErrorOptions) => createError(message, options);
  return (values: Readonly<Record<string, string | number>>, options?: PorticoErrorOptions) =>
    createError(fillIn(message, values), options);
}

const PLACEHOLDER = /\{(\w+)\}/;

function fillIn(message: string, values: Readonly<Record<string, string | number>>): string {
  return message.replace(new RegExp(PLACEHOLDER, "g"), (_, name) => String(values[name]));
}

Object.defineProperty(PorticoError.prototype, "name", {
  value: "PorticoError",
  configurable: true,
  writable: true,
});
Object.defineProperty(PorticoError.prototype, MARK, { value: true });

/**
 * Converts a thrown value to an error whose fields are readable texts. The value may be anything: an extension may
 * throw an object whose getters throw, and the code that reports the failure must not fail because of it.
 */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error)
      return isReadable(thrown) ? thrown : createWithoutStack(UNREADABLE);
    return createWithoutStack(
      typeof thrown === "string"
        ? thrown
        : `threw ${JSON.stringify(thrown) ?? String(thrown)}, which is not an Error`,
    );
  } catch {
    return createWithoutStack(UNREADABLE);
  }
}

const UNREADABLE = "threw a value that cannot be shown";

/** Creates an error without a stack, which would blame this module. */
function createWithoutStack(message: string): Error {
  return Object.assign(new Error(message), { stack: `Error: ${message}` });
}

/** Whether the fields of an error are readable texts. Throws if a getter throws. */
function isReadable({ name, message, stack = "", cause }: Error): boolean {
  const areTexts = [name, message, stack].every((field) => typeof field === "string");
  return areTexts && (!(cause instanceof Error) || typeof cause.message === "string");
}

/** Whether a value is a `PorticoError`, whichever copy of the class created it. */
export function isPorticoError(value: unknown): value is PorticoError {
  return (
    typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true
  );
}
