import { namedKind, readOpenAiProblem, type UpstreamProblem } from "portico/provider";

const KINDS: Record<string, UpstreamProblem["kind"]> = {
  invalid_request_error: "request",
  not_found_error: "request",
  conflict_error: "request",
  request_too_large: "request",
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "auth",
  rate_limit_error: "rate_limit",
  overloaded_error: "overloaded",
  timeout_error: "timeout",
  api_error: "upstream",
};

/** Reads `{type:"error",error:{type,message}}` of a response (any status) or of an `error` event (status 0). */
export function readProblem(status: number, body: Buffer): UpstreamProblem {
  const plain = readOpenAiProblem(status, body);
  const type = plain.type;
  const kind = namedKind(type === undefined ? undefined : KINDS[type], status);
  const members = plain.members && { ...plain.members, form: "anthropic" as const };
  return { message: plain.message, kind, code: type, members };
}
