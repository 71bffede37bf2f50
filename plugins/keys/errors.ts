/** Every error of the plugin `keys`. */
import { PorticoError } from "portico";

const LOWER =
  "To reduce the estimate, set a lower `max_tokens` (or `max_completion_tokens`, `max_output_tokens`)";

export const errors = PorticoError.table({
  addressNotAllowed: {
    code: "address_not_allowed",
    status: 403,
    type: "permission_error",
    message: "This key may not be used from this address: it is not in the key's allowedIps.",
  },
  expired: {
    code: "unauthorized",
    type: "authentication_error",
    message:
      "This key has expired. Use another key, or ask the owner of the gateway for a new one.",
  },
  disabled: {
    code: "unauthorized",
    type: "authentication_error",
    message: "This key is disabled. Use another key, or ask the owner of the gateway to enable it.",
  },
  rotatedAway: {
    code: "unauthorized",
    type: "authentication_error",
    message: "This secret is no longer valid, because the key was rotated. Use the new secret.",
  },
  unknownKey: {
    code: "not_found",
    message: "There is no key `{name}`. `portico keys list` shows all keys.",
  },
  nameTaken: {
    code: "conflict",
    message: "There is already a key `{name}`. Revoke it first, or use another name.",
  },
  changeUnderWay: {
    code: "conflict",
    message:
      "The key `{name}` is being created, changed or rotated by another request. Try again when that request has ended.",
  },
  changedMeanwhile: {
    code: "precondition_failed",
    message:
      "The key `{name}` has changed since you read it. Read it again, and send the request with its new version.",
  },
  notInForce: {
    code: "internal_error",
    message:
      "The key was written to the configuration, but it is not active. `portico status` shows why.",
  },
  notADate: {
    code: "invalid_request_error",
    message: "`{param}` is not a date. Write it as 2027-01-31 or 2027-01-31T12:00:00Z.",
  },
  notANetwork: {
    code: "invalid_request_error",
    message: "`{address}` {problem}.",
  },
  /** The error that OpenAI returns for a model that exists but that the project may not use. */
  modelNotAllowed: {
    code: "model_not_found",
    status: 403,
    type: "invalid_request_error",
    message:
      "This key may not use the model `{model}`. GET /v1/models lists the models that the key may use.",
  },
  costsNotCounted: {
    code: "service_unavailable",
    message:
      "This key has a budget, but the plugin `usage`, which counts costs, is off. The owner of the gateway can enable the plugin.",
  },
  tooManyRequests: {
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message:
      "This key has reached its limit of {limit} {unit} per minute. Try again in {seconds} s.",
  },
  tokensExceedLimit: {
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message: `This request may use {estimate} tokens, which is more than this key's limit of {max} tokens per minute. ${LOWER}.`,
  },
  tokensUsedUp: {
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message:
      "This request may use {estimate} tokens, which at the moment would exceed this key's limit of {max} tokens per minute. Try again in {seconds} s.",
  },
  budgetUsedUp: {
    code: "insufficient_quota",
    status: 429,
    type: "rate_limit_error",
    message: `This key has used up its budget of \${usd} per {period}. The next {period} begins at {next}.`,
  },
  budgetTooSmall: {
    code: "insufficient_quota",
    status: 429,
    type: "rate_limit_error",
    message: `This request may cost \${estimate}, but this key has only \${left} left of its budget of \${usd} per {period}. ${LOWER}.`,
  },
  budgetReserved: {
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message: `This request may cost \${estimate}, but this key has only \${left} left of its budget of \${usd} per {period}, and requests in progress reserve \${reserved} of that. ${LOWER}, or try again in a moment.`,
  },
});
