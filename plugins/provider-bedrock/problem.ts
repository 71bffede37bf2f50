import type { IncomingHttpHeaders } from "node:http";
import { namedKind, readOpenAiProblem, type UpstreamProblem } from "portico/provider";

/** The kinds by the name of the exception, in lower case and without the suffix `Exception`. */
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

/** Reads an error response: `{"message"}`, and the exception's name in a header or in `__type`. */
export function readProblem(
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
): UpstreamProblem {
  const type = headers["x-amzn-errortype"];
  return readNamed(typeof type === "string" ? type : textIn(body, "__type"), status, body);
}

/** Reads an exception inside a stream, whose payload has the same form as a response. */
export function readException(type: string | undefined, payload: Buffer): UpstreamProblem {
  return readNamed(type, 0, payload);
}

function readNamed(type: string | undefined, status: number, body: Buffer): UpstreamProblem {
  // `ThrottlingException:http://internal…`, `com.amazon#ThrottlingException`
  const name = type?.replace(/^.*#/, "").split(":")[0];
  const message =
    textIn(body, "message") ?? textIn(body, "Message") ?? readOpenAiProblem(status, body).message;
  const key = name?.replace(/Exception$/, "").toLowerCase() ?? "";
  const kind = namedKind(KINDS[key], status);
  return { message, kind, code: name || undefined };
}

/** Returns a non-empty text member of a JSON body. */
function textIn(body: Buffer, name: string): string | undefined {
  try {
    const value = (JSON.parse(body.toString("utf8")) as Record<string, unknown> | null)?.[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined;
  }
}
