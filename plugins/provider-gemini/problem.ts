import { namedKind, otherMembers, readOpenAiProblem, type UpstreamProblem } from "portico/provider";

interface GoogleError {
  code?: number;
  message?: string;
  status?: string;
  details?: unknown;
}

const KINDS: Record<string, UpstreamProblem["kind"]> = {
  INVALID_ARGUMENT: "request",
  FAILED_PRECONDITION: "request",
  OUT_OF_RANGE: "request",
  NOT_FOUND: "request",
  ALREADY_EXISTS: "request",
  ABORTED: "request",
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  RESOURCE_EXHAUSTED: "rate_limit",
  UNAVAILABLE: "overloaded",
  DEADLINE_EXCEEDED: "timeout",
  INTERNAL: "upstream",
  UNKNOWN: "upstream",
  CANCELLED: "upstream",
};

/** Reads `{error:{code,message,status,details}}`, alone or in a list, of a response or of an event (status 0). */
export function readProblem(status: number, body: Buffer): UpstreamProblem {
  const plain = readOpenAiProblem(status, body);
  const error = googleError(body);
  if (error === undefined) return plain;
  const message =
    typeof error.message === "string" && error.message !== "" ? error.message : plain.message;
  const retryAfter = parseSeconds(findDetail(error, "retryDelay"));
  return {
    message,
    kind: kindOf(error, status, message),
    code: typeof error.status === "string" ? error.status : undefined,
    retryAfter,
    members: otherMembers({ details: error.details }, "openai"),
  };
}

function kindOf(error: GoogleError, status: number, message: string): UpstreamProblem["kind"] {
  // A bad key is a plain 400 INVALID_ARGUMENT; only its details (or text) distinguish it from a bad request.
  const isBadKey = findDetail(error, "reason")?.startsWith("API_KEY_");
  if (isBadKey || /API key (not valid|expired|not found)/i.test(message)) return "auth";
  const namedByStatus = error.status === undefined ? undefined : KINDS[error.status];
  return namedKind(namedByStatus, status >= 400 ? status : (error.code ?? 0));
}

/** Returns the member from the first detail in which it is a text. */
function findDetail({ details }: GoogleError, name: string): string | undefined {
  if (!Array.isArray(details)) return undefined;
  return details
    .map((entry: Record<string, unknown> | null) => entry?.[name])
    .find((value) => typeof value === "string");
}

function googleError(body: Buffer): GoogleError | undefined {
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"));
    const top = (Array.isArray(parsed) ? parsed[0] : parsed) as { error?: unknown } | null;
    const error = top?.error;
    return typeof error === "object" && error !== null ? (error as GoogleError) : undefined;
  } catch {
    return undefined;
  }
}

/** Parses a duration: `"34.07s"` becomes 34.07. */
function parseSeconds(delay: string | undefined): number | undefined {
  const value = Number.parseFloat(delay ?? "");
  return Number.isFinite(value) ? value : undefined;
}
