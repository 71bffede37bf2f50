/** Writes errors in Anthropic's form. */
import type { ErrorForm } from "portico";

export const anthropicForm: ErrorForm = ({ message, status, param, details, requestId }) => ({
  type: "error",
  error: {
    type: errorType(status),
    message: param === undefined || message.includes(param) ? message : `${param}: ${message}`,
    ...details,
  },
  request_id: requestId ?? null,
});

/** Anthropic's own name of the header with the request id, which its SDKs read. */
export const anthropicHeaders = (requestId: string) => ({ "request-id": requestId });

/** Returns Anthropic's error type for a status. */
export function errorType(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}
