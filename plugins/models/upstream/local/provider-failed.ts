/** Turns what a provider of this process threw into the error of a failed upstream, with its cause and status. */
import { kindOfStatus, UpstreamError, upstreamError } from "portico/provider";

/** These are probably bugs: another attempt would only fail again. */
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

/** What clients of models throw has the upstream's status and headers; what `fetch` throws, a cause with a code. */
interface Thrown {
  name?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  headers?: unknown;
  param?: unknown;
  cause?: unknown;
}

/** The error for whatever a provider has thrown. */
export function providerFailure(provider: string, thrown: unknown): UpstreamError {
  if (!(thrown instanceof Error)) return new ProviderFailed(provider, thrown);
  const { name, code, status, statusCode, headers, param, cause } = thrown as Thrown;
  const errorStatus = [status, statusCode].find(
    (one): one is number => typeof one === "number" && one >= 400 && one < 600,
  );
  const message = `The provider \`${provider}\` failed${reasonOf(thrown)}.`;
  if (errorStatus !== undefined) {
    const problem = {
      kind: kindOfStatus(errorStatus),
      message: kindOfStatus(errorStatus) === "request" ? plain(thrown.message) : message,
      code: typeof code === "string" ? code : undefined,
      param: typeof param === "string" ? param : undefined,
      retryAfter: retryAfterIn(headers),
    };
    return caused(upstreamError(problem, errorStatus), thrown);
  }
  if (name === "TimeoutError")
    return caused(upstreamError({ kind: "timeout", message }, 0), thrown);
  if (isNetworkCode(code) || isNetworkCode((cause as Thrown | undefined)?.code))
    return caused(upstreamError({ kind: "upstream", message }, 0), thrown);
  return new ProviderFailed(provider, thrown);
}

function caused(error: UpstreamError, cause: unknown): UpstreamError {
  error.cause = cause;
  return error;
}

/** `: fetch failed (ECONNREFUSED)`. */
function reasonOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : thrown;
  const text = typeof message === "string" ? message : "";
  const code = ((thrown as Thrown | null)?.cause as Thrown | undefined)?.code;
  const reason = plain(text);
  if (reason === "") return "";
  return `: ${reason}${typeof code === "string" && !reason.includes(code) ? ` (${code})` : ""}`;
}

const LONGEST = 500;

/** One line, without paths of this machine. */
function plain(text: string): string {
  const line = text.slice(0, LONGEST).split("\n")[0] ?? "";
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
