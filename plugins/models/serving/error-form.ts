/** Writes an upstream's error in the client's format. */
import { isPorticoError, PorticoError } from "portico";
import {
  type ChatRequest,
  CONTEXT_LENGTH,
  type ErrorMembers,
  isUpstreamError,
  promptTooLong,
  type UpstreamError,
} from "portico/provider";
import { promptTokens } from "../routing/limits/estimate.ts";

export type ClientForm = ErrorMembers["form"];

/**
 * Returns the error without details of another format. An error about the length of the prompt gets the wording that
 * the client looks for, since agents then compact their history.
 */
export function errorInForm(error: unknown, form: ClientForm, request: ChatRequest): unknown {
  return isPorticoError(error) ? porticoErrorInForm(error, form, request) : error;
}

export function porticoErrorInForm(
  error: PorticoError,
  form: ClientForm,
  request: ChatRequest,
): PorticoError {
  const upstream = upstreamErrorIn(error);
  const isContext = error.code === CONTEXT_LENGTH && form === "anthropic";
  const isForeign = upstream === error && upstream.detailsForm !== form;
  const details = isForeign ? undefined : error.details;
  if (!isContext && details === error.details) return error;
  const { code, status, type, headers, limit } = error;
  const message = isContext
    ? promptTooLong(upstream?.contextFigures ?? {}, promptTokens(request))
    : error.message;
  const param = isContext ? undefined : error.param;
  return new PorticoError(code, message, {
    status,
    param,
    type,
    headers,
    details,
    limit,
    cause: error,
  });
}

/** Finds the upstream's error: it is the cause of the agent's error if the agent is the model. */
function upstreamErrorIn(error: unknown): UpstreamError | undefined {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    if (isUpstreamError(cause)) return cause;
    cause = cause.cause;
  }
  return undefined;
}

const MAX_CAUSES = 5;
