import { type ChatRequest, hasForeignFields, withoutForeignFields } from "portico/chat";

/** Deployments that bear the name of a reasoning model: those refuse `max_tokens`. */
const REASONING = /^(?:o\d|gpt-5)/;

/** True where the request may be sent as it is. */
export function fits(request: ChatRequest, deployment: string): boolean {
  if (request.max_tokens != null && REASONING.test(deployment)) return false;
  return !request.messages.some(hasForeignFields);
}

/**
 * The request with the deployment as its model, the limit under the name that it takes, and without the reasoning and
 * the signatures of another provider.
 */
export function fitted(request: ChatRequest, deployment: string): ChatRequest {
  const { max_tokens, ...rest } = request;
  const renamed = REASONING.test(deployment) ? "max_completion_tokens" : "max_tokens";
  return {
    ...rest,
    model: deployment,
    ...(max_tokens != null && { [renamed]: rest[renamed] ?? max_tokens }),
    messages: request.messages.map((message) =>
      hasForeignFields(message) ? withoutForeignFields(message) : message,
    ),
  };
}
