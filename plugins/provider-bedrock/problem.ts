import type { IncomingHttpHeaders } from "node:http";
import { namedKind, readOpenAiProblem, type UpstreamProblem } from "portico/provider";

/** By the name of the exception, without its `Exception`, in lower case. */
const KINDS: Record<string, UpstreamProblem["kind"]> = {
  validation: "request",
  resourcenotfound: "request",
  conflict: "request",
  accessdenied: "auth",
  unrecognizedclient: "auth",
  invalidsignature: "auth",
  incompletesignature: "auth",
  expiredtoken: "auth",
  missingauthenticationtoken: "auth",
  throttling: "rate_limit",
  toomanyrequests: "rate_limit",
  servicequotaexceeded: "rate_limit",
  modelnotready: "overloaded",
  serviceunavailable: "overloaded",
  modeltimeout: "timeout",
  modelerror: "upstream",
  modelstreamerror: "upstream",
  internalserver: "upstream",
};

/** An error response: `{"message"}` and the exception's name in a header. */
export function readProblem(
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
): UpstreamProblem {
  const type = headers["x-amzn-errortype"];
  return named(typeof type === "string" ? type : textIn(body, "__type"), status, body);
}

/** An exception inside a stream; its payload is the same as a response's. */
export function readException(type: string | undefined, payload: Buffer): UpstreamProblem {
  return named(type, 0, payload);
}

function named(type: string | undefined, status: number, body: Buffer): UpstreamProblem {
  // `ThrottlingException:http://internal…`, `com.amazon#ThrottlingException`
  const name = type?.replace(/^.*#/, "").split(":")[0];
  const message =
    textIn(body, "message") ?? textIn(body, "Message") ?? readOpenAiProblem(status, body).message;
  const key = name?.replace(/Exception$/, "").toLowerCase() ?? "";
  const kind = namedKind(KINDS[key], status);
  return { message, kind, code: name || undefined };
}

/** AWS writes some names in two ways. */
function textIn(body: Buffer, name: string): string | undefined {
  try {
    const value = (JSON.parse(body.toString("utf8")) as Record<string, unknown> | null)?.[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined;
  }
}
