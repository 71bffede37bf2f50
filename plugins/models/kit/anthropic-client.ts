import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a client of Anthropic's format sent the request. On paths that two formats share, it gets the response in
 * that format.
 */
export function isAnthropicClient(headers: IncomingHttpHeaders): boolean {
  return headers["anthropic-version"] !== undefined;
}
