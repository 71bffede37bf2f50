import type { ChatMessage, ChatRequest } from "portico";

/** Deployments that bear the name of a reasoning model: those refuse `max_tokens`. */
const REASONING = /^(?:o\d|gpt-5)/;

/** True where the request may be sent as it is. */
export function fits(request: ChatRequest, deployment: string): boolean {
  if (request.max_tokens != null && REASONING.test(deployment)) return false;
  return !request.messages.some(carriesSignatures);
}

/**
 * The request with the deployment as its model, the limit under the name that it takes, and without the signatures of
 * another provider.
 */
export function fitted(request: ChatRequest, deployment: string): ChatRequest {
  const { max_tokens, ...rest } = request;
  const renamed = REASONING.test(deployment) ? "max_completion_tokens" : "max_tokens";
  return {
    ...rest,
    model: deployment,
    ...(max_tokens != null && { [renamed]: rest[renamed] ?? max_tokens }),
    messages: request.messages.map((message) => (carriesSignatures(message) ? withoutSignatures(message) : message)),
  };
}

/** A conversation that began with another provider may bring its signed reasoning along; Azure refuses such fields. */
function carriesSignatures(message: ChatMessage): boolean {
  return message.extra_content != null || (message.tool_calls ?? []).some((call) => "extra_content" in call);
}

function withoutSignatures(message: ChatMessage): ChatMessage {
  const { extra_content: _, tool_calls: calls, ...rest } = message;
  if (calls == null) return rest;
  return {
    ...rest,
    tool_calls: calls.map(({ id, type, function: fn }) => ({ id, type, function: fn })) as typeof calls,
  };
}
