import type { IncomingHttpHeaders } from "node:http";

/** Whether a client of Anthropic's format sent the request: on paths that two formats share, it gets that format's form. */
export function isAnthropicClient(headers: IncomingHttpHeaders): boolean {
  return headers["anthropic-version"] !== undefined;
}
