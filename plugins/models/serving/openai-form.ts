/** Formats errors below `/v1` in OpenAI's format. */
import type { ErrorForm } from "portico";

export const openaiForm: ErrorForm = ({ code, message, status, type, param, details }) => ({
  error: {
    message,
    type: type ?? typeOf(status),
    param: param ?? null,
    code: code === "unauthorized" ? "invalid_api_key" : code,
    ...details,
  },
});

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}
