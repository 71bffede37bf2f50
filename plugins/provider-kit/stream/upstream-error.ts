/** Errors of upstreams, and the errors that the gateway's own callers get for them. */
import { PorticoError } from "portico";
import {
  CONTEXT_LENGTH,
  type ContextFigures,
  contextFigures,
  isContextLength,
} from "./context-length.ts";
import { jsonLines, parseJsonObject } from "./json-lines.ts";

/**
 * `auth`: our key was refused. `overloaded`, `rate_limit`, `timeout`: as named. `request`: the caller's fault, passed on
 * with its status. `upstream`: everything else.
 */
export type UpstreamKind =
  | "auth"
  | "request"
  | "rate_limit"
  | "overloaded"
  | "timeout"
  | "upstream";

/** Bytes of an error body that are searched for JSON where the whole is none. */
const LOOKED_AT_BYTES = 64 * 1024;

/** Members of an error object beside its message, type, code and param. */
export interface ErrorMembers {
  /** The format whose clients understand them. */
  form: "openai" | "anthropic";
  values: Record<string, unknown>;
}

/** The content of an upstream's error body. */
export interface UpstreamProblem {
  message: string;
  /** The upstream's own code, passed on. */
  code?: string;
  type?: string;
  param?: string;
  kind: UpstreamKind;
  /** Further members of the error object (`metadata`, `details`, `innererror`), for clients of the same format. */
  members?: ErrorMembers;
  /** Seconds, where the body names a time (the caller reads the header). */
  retryAfter?: number;
  /** The limit of the gateway's own configuration that refused: `requestsPerMinute`, `budget`. */
  limit?: string;
}

/** An error response of an upstream as our caller gets it, with what the router needs to decide where to go next. */
export class UpstreamError extends PorticoError {
  readonly kind: UpstreamKind;
  /** The upstream's HTTP status; 0 where there was none (a reset, an error inside a stream). */
  readonly upstreamStatus: number;
  /** Milliseconds, where the upstream named a time. */
  readonly retryAfterMs: number | undefined;
  /** The format whose clients understand `details`. */
  readonly detailsForm: ErrorMembers["form"] | undefined;
  /** Of an error about the length of the prompt. */
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

/** True for an `UpstreamError`, whichever copy of the class made it. */
export function isUpstreamError(error: unknown): error is UpstreamError {
  return error instanceof Error && "kind" in error && "upstreamStatus" in error;
}

/**
 * The kind that an HTTP status means with every provider that has no rule of its own: 400, 404, 409, 413, 422 are the
 * caller's; 401, 402, 403 our key's; 408 and 504 timeouts; 429; 503 and 529 overload; the rest is the upstream's fault.
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
 * The kind that a body names. Its general words ("bad request", "error") count only where the status has none of its own:
 * a 401 is about our key and a 500 the upstream's fault, whatever the body calls them. So is it with a want of capacity: a
 * 429 is a rate limit and a 503 an overload.
 */
export function namedKind(named: UpstreamKind | undefined, status: number): UpstreamKind {
  const byStatus = kindOfStatus(status);
  if (isCapacity(named) && isCapacity(byStatus)) return byStatus;
  const exact = named !== undefined && named !== "request" && named !== "upstream";
  if (exact || (named !== undefined && byStatus === "upstream" && status < 500)) return named;
  return byStatus;
}

function isCapacity(kind: UpstreamKind | undefined): boolean {
  return kind === "rate_limit" || kind === "overloaded";
}

/** No upstream makes our callers wait longer than a day at a time. */
const LONGEST_RETRY_AFTER_S = 86_400;
/** What codes and types of providers look like; anything else is text in the wrong place. */
const CODE = /^[\w.:/ -]{1,100}$/;
const PARAM = /^[\x20-\x7e]{1,256}$/;

/** An upstream's texts reach headers, logs and programs, so only values of the right form and size are kept. */
function boundProblem({
  code,
  type,
  param,
  retryAfter,
  ...problem
}: UpstreamProblem): UpstreamProblem {
  const fitting = (value: string | undefined, form: RegExp) =>
    value !== undefined && form.test(value) ? value : undefined;
  return {
    ...problem,
    code: fitting(code, CODE),
    type: fitting(type, CODE),
    param: fitting(param, PARAM),
    retryAfter:
      retryAfter === undefined || Number.isNaN(retryAfter)
        ? undefined
        : Math.min(Math.max(0, retryAfter), LONGEST_RETRY_AFTER_S),
  };
}

/**
 * The error for a problem. `status` is the upstream's (0 or 200 for an error inside a response). `request` problems keep
 * status and code; a refused key is 502 `upstream_auth`, a timeout 504 `upstream_timeout`, overload 503 and every other
 * failure 502 `upstream_error`; a rate limit stays 429 and always carries `retry-after`.
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
      const passed = status >= 400 && status < 500 ? status : 400;
      return new UpstreamError(problem.code ?? "invalid_request_error", problem.message, {
        ...base,
        status: passed,
        type: problem.type ?? "invalid_request_error",
      });
    }
    case "auth":
      return new UpstreamError(
        "upstream_auth",
        `The upstream refused the gateway's key: ${problem.message}`,
        {
          ...base,
          // They are about the gateway's account.
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

/** Some servers answer 500, or an error in a 200 response; a prompt that is too long stays too long all the same. */
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
 * Reads an error body in OpenAI's form and its usual deviations (`{"error":"text"}`, `{"message"}`, `{"detail"}`, a list
 * of errors, a numeric code, plain text, an HTML page, the first event or line that contains an error). Never throws.
 */
export function readOpenAiProblem(status: number, body: Buffer): UpstreamProblem {
  const kind = kindOfStatus(status);
  const parsed = parseJsonObject(body.toString("utf8")) ?? firstIn(body);
  if (parsed === undefined) return { kind, message: plainMessage(status, body) };
  const top = Array.isArray(parsed) ? parsed[0] : parsed;
  const nested = field(top, "error");
  const error = nested ?? top;
  if (typeof error === "string") return { kind, message: error };
  const message =
    text(field(error, "message")) ??
    text(field(error, "detail")) ??
    text(field(top, "message")) ??
    plainMessage(status, body);
  const code = text(field(error, "code"));
  const type = text(field(error, "type"));
  const param = text(field(error, "param"));
  return {
    kind,
    message,
    code,
    type,
    param,
    members: otherMembers(nested, "openai"),
  };
}

const OWN_MEMBERS = new Set(["message", "detail", "type", "code", "param", "object", "status"]);
/** More is no explanation of an error. */
const MOST_CHARACTERS = 16 * 1024;

/** The members of an error object that no other field holds; undefined where there are none, or too many. */
export function otherMembers(error: unknown, form: ErrorMembers["form"]): ErrorMembers | undefined {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return undefined;
  const entries = Object.entries(error).filter(
    ([name, value]) => !OWN_MEMBERS.has(name) && value != null,
  );
  const values = Object.fromEntries(entries) as Record<string, unknown>;
  if (entries.length === 0 || JSON.stringify(values).length > MOST_CHARACTERS) return undefined;
  return { form, values };
}

/** The error among events or lines of JSON. */
function firstIn(body: Buffer): unknown {
  const says = (value: unknown) =>
    ["error", "message", "detail"].some((name) => field(value, name) !== undefined);
  return jsonLines(body.toString("utf8", 0, LOOKED_AT_BYTES)).find(says);
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? ((value as Record<string, unknown>)[key] ?? undefined)
    : undefined;
}

function text(value: unknown): string | undefined {
  if (typeof value === "string" && value !== "") return value;
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return JSON.stringify(value).slice(0, 500);
  } catch {
    return "Its error is nested too deeply.";
  }
}

/** Shows plain text. JSON, HTML and bytes are described instead of being quoted in part. */
function plainMessage(status: number, body: Buffer): string {
  const shown = body.toString("utf8", 0, LOOKED_AT_BYTES).trim();
  const what = status >= 100 ? `status ${status}` : "an error";
  if (shown === "") return `The upstream answered ${what} without a body.`;
  if (shown.startsWith("<")) {
    const title = /<title[^<>]*>([^<]{1,200})<\/title>/i.exec(shown)?.[1]?.trim();
    return `The upstream answered ${what} with an HTML page${title === undefined ? "" : ` ("${title}")`}. Check the channel's baseUrl.`;
  }
  const form = parseJsonObject(shown) === undefined ? formOf(shown.slice(0, 500)) : undefined;
  if (form !== undefined) return `The upstream answered ${what} with ${form}.`;
  return `The upstream answered ${what}: ${shown.slice(0, 500)}`;
}

function formOf(text: string): string | undefined {
  if (/^(data|event|id|retry)?:/.test(text)) return "a stream of events without an error";
  if (/^[{[]/.test(text)) return "JSON that is broken or cut off";
  return /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]/.test(text) ? "data that is not text" : undefined;
}
