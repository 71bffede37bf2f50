/** Converts errors of upstreams to the errors that the gateway's own callers get. */
import { PorticoError } from "portico";
import {
  CONTEXT_LENGTH,
  type ContextFigures,
  contextFigures,
  isContextLength,
} from "./context-length.ts";
import { jsonLines, parseJsonObject } from "./json-lines.ts";

/**
 * `auth`: the upstream refused the gateway's key. `request`: the caller's fault, passed on with its status. `upstream`:
 * everything that the other kinds do not cover.
 */
export type UpstreamKind =
  | "auth"
  | "request"
  | "rate_limit"
  | "overloaded"
  | "timeout"
  | "upstream";

/** The number of bytes that are searched for JSON in an error body that is not JSON as a whole. */
const SEARCHED_BYTES = 64 * 1024;

/** The members of an error object other than its message, type, code and param. */
export interface ErrorMembers {
  /** The format whose clients understand the members. */
  form: "openai" | "anthropic";
  values: Record<string, unknown>;
}

/** The content of an upstream's error body. */
export interface UpstreamProblem {
  message: string;
  /** The upstream's own code, which is passed on. */
  code?: string;
  type?: string;
  param?: string;
  kind: UpstreamKind;
  /** Further members of the error object (`metadata`, `details`, `innererror`), for clients of the same format. */
  members?: ErrorMembers;
  /** In seconds, if the body contains a time (the caller reads the header). */
  retryAfter?: number;
  /** The limit in the gateway's configuration that refused the request: `requestsPerMinute`, `budget`. */
  limit?: string;
}

/** An upstream's error as the gateway's caller gets it, with the facts from which the router chooses the next target. */
export class UpstreamError extends PorticoError {
  readonly kind: UpstreamKind;
  /** The upstream's HTTP status; 0 if there was none (a reset, an error inside a stream). */
  readonly upstreamStatus: number;
  /** In milliseconds, if the upstream sent a time. */
  readonly retryAfterMs: number | undefined;
  /** The format whose clients understand `details`. */
  readonly detailsForm: ErrorMembers["form"] | undefined;
  /** The figures of an error about the length of the prompt. */
  readonly contextFigures: ContextFigures | undefined;

  constructor(
    code: string,
    message: string,
    options: ConstructorParameters<typeof PorticoError>[2] & {
      kind: UpstreamKind;
      upstreamStatus: number;
      retryAfterMs?: number | undefined;
      detailsForm?: ErrorMembers["form"] | undefined;
      contextFigures?: ContextFigures | undefined;
    },
  ) {
    super(code, message, options);
    this.kind = options.kind;
    this.upstreamStatus = options.upstreamStatus;
    this.retryAfterMs = options.retryAfterMs;
    this.detailsForm = options.detailsForm;
    this.contextFigures = options.contextFigures;
  }
}

/** True for an `UpstreamError`, also one that another copy of the class has created. */
export function isUpstreamError(error: unknown): error is UpstreamError {
  return error instanceof Error && "kind" in error && "upstreamStatus" in error;
}

/**
 * Returns the kind of an HTTP status, for providers without rules of their own: 400, 404, 409, 413, 422 are the caller's
 * fault; 401, 402, 403 concern the gateway's key; 408 and 504 are timeouts; 429 is a rate limit; 503 and 529 are overload;
 * the rest is the upstream's fault.
 */
export function kindOfStatus(status: number): UpstreamKind {
  switch (status) {
    case 400:
    case 404:
    case 409:
    case 413:
    case 422:
      return "request";
    case 401:
    case 402:
    case 403:
      return "auth";
    case 408:
    case 504:
      return "timeout";
    case 429:
      return "rate_limit";
    case 503:
    case 529:
      return "overloaded";
    default:
      return "upstream";
  }
}

/**
 * Returns the kind of an error from the kind that its body names, and its status. The general kinds (`request`, `upstream`)
 * count only if the status has no kind of its own: a 401 concerns the gateway's key and a 500 is the upstream's fault,
 * whatever the body says. For lack of capacity the status decides: a 429 is a rate limit and a 503 is overload.
 */
export function namedKind(named: UpstreamKind | undefined, status: number): UpstreamKind {
  const byStatus = kindOfStatus(status);
  if (isCapacity(named) && isCapacity(byStatus)) return byStatus;
  const isSpecific = named !== undefined && named !== "request" && named !== "upstream";
  if (isSpecific || (named !== undefined && byStatus === "upstream" && status < 500)) return named;
  return byStatus;
}

function isCapacity(kind: UpstreamKind | undefined): boolean {
  return kind === "rate_limit" || kind === "overloaded";
}

/** The longest delay, one day, that an upstream can impose on the gateway's callers. */
const MAX_RETRY_AFTER_S = 86_400;
/** The form of codes and types of providers. Anything else is text in the wrong place. */
const CODE = /^[\w.:/ -]{1,100}$/;
const PARAM = /^[\x20-\x7e]{1,256}$/;

/** Removes values of the wrong form or size, because an upstream's texts reach headers, logs and programs. */
function boundProblem({
  code,
  type,
  param,
  retryAfter,
  ...problem
}: UpstreamProblem): UpstreamProblem {
  const ifMatching = (value: string | undefined, form: RegExp) =>
    value !== undefined && form.test(value) ? value : undefined;
  return {
    ...problem,
    code: ifMatching(code, CODE),
    type: ifMatching(type, CODE),
    param: ifMatching(param, PARAM),
    retryAfter:
      retryAfter === undefined || Number.isNaN(retryAfter)
        ? undefined
        : Math.min(Math.max(0, retryAfter), MAX_RETRY_AFTER_S),
  };
}

/**
 * Returns the error for a problem. `status` is the upstream's (0 or 200 for an error inside a response). `request` problems
 * keep status and code; a refused key becomes 502 `upstream_auth`, a timeout 504 `upstream_timeout`, overload 503 and every
 * other failure 502 `upstream_error`; a rate limit remains 429 and always has `retry-after`.
 */
export function upstreamError(reported: UpstreamProblem, status: number): UpstreamError {
  const problem = boundProblem(reported);
  if (isAboutContext(problem, status)) return contextLengthError(problem, status);
  const base = {
    kind: problem.kind,
    upstreamStatus: status,
    details: problem.members?.values,
    detailsForm: problem.members?.form,
    retryAfterMs: problem.retryAfter === undefined ? undefined : problem.retryAfter * 1000,
    param: problem.param,
    limit: problem.limit,
  };
  switch (problem.kind) {
    case "request": {
      const callerStatus = status >= 400 && status < 500 ? status : 400;
      return new UpstreamError(problem.code ?? "invalid_request_error", problem.message, {
        ...base,
        status: callerStatus,
        type: problem.type ?? "invalid_request_error",
      });
    }
    case "auth":
      return new UpstreamError(
        "upstream_auth",
        `The upstream refused the gateway's key: ${problem.message}`,
        {
          ...base,
          // The details concern the gateway's account.
          details: undefined,
          status: 502,
          type: "api_error",
        },
      );
    case "rate_limit": {
      const seconds = Math.max(1, Math.ceil(problem.retryAfter ?? 1));
      return new UpstreamError(problem.code ?? "rate_limit_exceeded", problem.message, {
        ...base,
        status: 429,
        type: "rate_limit_error",
        headers: { "retry-after": String(seconds) },
      });
    }
    case "timeout":
      return new UpstreamError("upstream_timeout", problem.message, {
        ...base,
        status: 504,
        type: "api_error",
      });
    case "overloaded":
      return new UpstreamError("upstream_error", problem.message, {
        ...base,
        status: 503,
        type: "api_error",
        headers:
          problem.retryAfter === undefined
            ? undefined
            : { "retry-after": String(Math.ceil(problem.retryAfter)) },
      });
    default:
      return new UpstreamError("upstream_error", problem.message, {
        ...base,
        status: 502,
        type: "api_error",
      });
  }
}

/** True for a prompt that is too long, which some servers report with status 500 or in a 200 response. */
function isAboutContext(problem: UpstreamProblem, status: number): boolean {
  const { kind } = problem;
  const isCandidate = kind === "request" || (kind === "upstream" && [0, 200, 500].includes(status));
  return isCandidate && isContextLength(problem);
}

function contextLengthError(problem: UpstreamProblem, status: number): UpstreamError {
  const { message, param, members } = problem;
  return new UpstreamError(CONTEXT_LENGTH, message, {
    kind: "request",
    upstreamStatus: status,
    status: status >= 400 && status < 500 ? status : 400,
    type: "invalid_request_error",
    param,
    details: members?.values,
    detailsForm: members?.form,
    contextFigures: contextFigures(message, members?.values),
  });
}

/**
 * Reads an error body in OpenAI's form or a usual deviation (`{"error":"text"}`, `{"message"}`, `{"detail"}`, a list
 * of errors, a numeric code, plain text, an HTML page, the first event or line that contains an error). Never throws.
 */
export function readOpenAiProblem(status: number, body: Buffer): UpstreamProblem {
  const kind = kindOfStatus(status);
  const parsed = parseJsonObject(body.toString("utf8")) ?? firstErrorIn(body);
  if (parsed === undefined) return { kind, message: plainMessage(status, body) };
  const top = Array.isArray(parsed) ? parsed[0] : parsed;
  const nested = memberOf(top, "error");
  const error = nested ?? top;
  if (typeof error === "string") return { kind, message: error };
  const message =
    textOf(memberOf(error, "message")) ??
    textOf(memberOf(error, "detail")) ??
    textOf(memberOf(top, "message")) ??
    plainMessage(status, body);
  const code = textOf(memberOf(error, "code"));
  const type = textOf(memberOf(error, "type"));
  const param = textOf(memberOf(error, "param"));
  return {
    kind,
    message,
    code,
    type,
    param,
    members: otherMembers(nested, "openai"),
  };
}

/** The members that `UpstreamProblem` has fields for, and those that repeat them. */
const READ_MEMBERS = new Set(["message", "detail", "type", "code", "param", "object", "status"]);
/** The size limit of further members, in characters of JSON. */
const MAX_CHARACTERS = 16 * 1024;

/** Returns the members of an error object that no other field contains; undefined if there are none, or too many. */
export function otherMembers(error: unknown, form: ErrorMembers["form"]): ErrorMembers | undefined {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return undefined;
  const entries = Object.entries(error).filter(
    ([name, value]) => !READ_MEMBERS.has(name) && value != null,
  );
  const values = Object.fromEntries(entries) as Record<string, unknown>;
  if (entries.length === 0 || JSON.stringify(values).length > MAX_CHARACTERS) return undefined;
  return { form, values };
}

/** Returns the first error among events or lines of JSON. */
function firstErrorIn(body: Buffer): unknown {
  const isError = (value: unknown) =>
    ["error", "message", "detail"].some((name) => memberOf(value, name) !== undefined);
  return jsonLines(body.toString("utf8", 0, SEARCHED_BYTES)).find(isError);
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? ((value as Record<string, unknown>)[key] ?? undefined)
    : undefined;
}

/** Returns a value as text; undefined if it is empty or missing. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return JSON.stringify(value).slice(0, 500);
  } catch {
    return "The error in the response is nested too deeply.";
  }
}

/** Returns a message that quotes plain text, and describes JSON, HTML and bytes instead of quoting a part of them. */
function plainMessage(status: number, body: Buffer): string {
  const content = body.toString("utf8", 0, SEARCHED_BYTES).trim();
  const description = status >= 100 ? `status ${status}` : "an error";
  if (content === "") return `The upstream responded with ${description}, without a body.`;
  if (content.startsWith("<")) {
    const title = /<title[^<>]*>([^<]{1,200})<\/title>/i.exec(content)?.[1]?.trim();
    return `The upstream responded with ${description} and an HTML page${title === undefined ? "" : ` ("${title}")`}. Check the channel's baseUrl.`;
  }
  const form = parseJsonObject(content) === undefined ? formOf(content.slice(0, 500)) : undefined;
  if (form !== undefined) return `The upstream responded with ${description} and ${form}.`;
  return `The upstream responded with ${description}: ${content.slice(0, 500)}`;
}

function formOf(text: string): string | undefined {
  if (/^(data|event|id|retry)?:/.test(text)) return "a stream of events without an error";
  if (/^[{[]/.test(text)) return "JSON that is broken or cut off";
  return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]/.test(text) ? "data that is not text" : undefined;
}
