/** Converts an exception of a provider in this process into the error of a failed upstream, with its cause and status. */
import { kindOfStatus, UpstreamError, upstreamError } from "portico/provider";

/** Probably a bug of the provider: another attempt would fail in the same way. */
export class ProviderFailed extends UpstreamError {
  constructor(provider: string, cause: unknown) {
    super("upstream_error", `The provider \`${provider}\` failed${reasonOf(cause)}.`, {
      kind: "upstream",
      upstreamStatus: 0,
      status: 502,
      type: "api_error",
      cause,
    });
  }
}

/** Errors of model clients have the upstream's status and headers; those of `fetch` have a cause with a code. */
interface Thrown {
  name?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  headers?: unknown;
  param?: unknown;
  cause?: unknown;
}

/** Creates the error for anything that a provider has thrown. */
export function providerFailure(provider: string, thrown: unknown): UpstreamError {
  if (!(thrown instanceof Error)) return new ProviderFailed(provider, thrown);
  const { name, code, status, statusCode, headers, param, cause } = thrown as Thrown;
  const errorStatus = [status, statusCode].find(
    (value): value is number => typeof value === "number" && value >= 400 && value < 600,
  );
  const message = `The provider \`${provider}\` failed${reasonOf(thrown)}.`;
  if (errorStatus !== undefined) {
    const problem = {
      kind: kindOfStatus(errorStatus),
      message: kindOfStatus(errorStatus) === "request" ? sanitize(thrown.message) : message,
      code: typeof code === "string" ? code : undefined,
      param: typeof param === "string" ? param : undefined,
      retryAfter: retryAfterIn(headers),
    };
    return withCause(upstreamError(problem, errorStatus), thrown);
  }
  if (name === "TimeoutError")
    return withCause(upstreamError({ kind: "timeout", message }, 0), thrown);
  if (isNetworkCode(code) || isNetworkCode((cause as Thrown | undefined)?.code))
    return withCause(upstreamError({ kind: "upstream", message }, 0), thrown);
  return new ProviderFailed(provider, thrown);
}

function withCause(error: UpstreamError, cause: unknown): UpstreamError {
  error.cause = cause;
  return error;
}

/** Formats the reason, as `: fetch failed (ECONNREFUSED)`. */
function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : thrown;
  const text = typeof message === "string" ? message : "";
  const code = ((thrown as Thrown | null)?.cause as Thrown | undefined)?.code;
  const reason = sanitize(text);
  if (reason === "") return "";
  return `: ${reason}${typeof code === "string" && !reason.includes(code) ? ` (${code})` : ""}`;
}

const MAX_LENGTH = 500;

/** Shortens a message to one line, and removes paths of this machine. */
function sanitize(text: string): string {
  const line = text.slice(0, MAX_LENGTH).split("\n")[0] ?? "";
  return line
    .replace(/(?:file:\/\/)?(?<![\w/:.])(?:\/[\w.@+-]+){2,}(?::\d+)*/g, "…")
    .replace(/(?<!\w)[A-Za-z]:\\[^\s'"]*/g, "…")
    .replace(/\.$/, "")
    .trim();
}

function isNetworkCode(code: unknown): boolean {
  return (
    typeof code === "string" && /^(E(CONN|HOST|NET|PIPE|AI_|TIMEDOUT|NOTFOUND)|UND_ERR_)/.test(code)
  );
}

function retryAfterIn(headers: unknown): number | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const value =
    headers instanceof Headers
      ? headers.get("retry-after")
      : (headers as Record<string, unknown>)["retry-after"];
  const seconds = typeof value === "string" && value !== "" ? Number(value) : Number.NaN;
  return seconds >= 0 ? seconds : undefined;
}
