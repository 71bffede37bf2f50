/** An upstream's error as clients of the format that the request came in understand it. */
import { PorticoError } from "portico";
import {
  type ChatRequest,
  CONTEXT_LENGTH,
  type ErrorMembers,
  isUpstreamError,
  promptTooLong,
} from "portico/provider";
import { promptTokens } from "../routing/limits/estimate.ts";

export type ClientForm = ErrorMembers["form"];

/**
 * The same error, without details that are of another format; one about the length of the prompt in the words that the
 * client looks for, since agents compact their history then.
 */
export function errorInForm(error: unknown, form: ClientForm, request: ChatRequest): unknown {
  if (!isUpstreamError(error)) return error;
  const isContext = error.code === CONTEXT_LENGTH && form === "anthropic";
  const details = error.detailsForm === form ? error.details : undefined;
  if (!isContext && details === error.details) return error;
  const { code, status, type, headers } = error;
  const message = isContext
    ? promptTooLong(error.contextFigures ?? {}, promptTokens(request))
    : error.message;
  const param = isContext ? undefined : error.param;
  return new PorticoError(code, message, { status, param, type, headers, details, cause: error });
}
