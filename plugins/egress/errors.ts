import { PorticoError } from "portico";

/** The codes of what cannot be had or may not be reached, with their statuses. */
export const errors = {
  address_blocked: 403,
  name_not_resolved: 502,
  response_too_large: 502,
  too_many_redirects: 502,
  upstream_error: 502,
  upstream_timeout: 504,
} as const;

/** Carries its status along: the guard also runs on a node, where no plugin is loaded. */
export function egressError(
  code: keyof typeof errors,
  message: string,
  options: { details?: Record<string, unknown>; cause?: unknown } = {},
): PorticoError {
  return new PorticoError(code, message, { status: errors[code], ...options });
}
