/** Fits a request to what a server takes. */
import {
  type ChatMessage,
  type ChatRequest,
  hasForeignFields,
  withoutForeignFields,
} from "portico/chat";
import type { Quirks } from "./presets.ts";

/** True where the request may be sent as it is. */
export function fits(quirks: Quirks | undefined, request: ChatRequest, model: string): boolean {
  if (quirks === undefined) return true;
  if (quirks.drop?.some((field) => request[field] != null)) return false;
  if (
    quirks.dropFor?.some(
      ({ models, fields }) => fields.some((field) => request[field] != null) && models.test(model),
    )
  )
    return false;
  if (quirks.noMaxCompletionTokens && request["max_completion_tokens"] != null) return false;
  if (request["max_tokens"] != null && quirks.noMaxTokensFor?.test(model)) return false;
  if (quirks.noDeveloper && request.messages.some((message) => message.role === "developer"))
    return false;
  if (quirks.strictMessages && request.messages.some(hasForeignFields)) return false;
  return !(quirks.noReasoningBack && request.messages.some(bringsReasoningBack));
}

/** A changed copy, and the paths of the parameters that were left out. */
export function adapt(
  quirks: Quirks | undefined,
  request: ChatRequest,
): { request: ChatRequest; dropped: string[] } {
  if (fits(quirks, request, request.model) || quirks === undefined) return { request, dropped: [] };
  const changed: ChatRequest = { ...request };
  const dropped: string[] = [];
  const drop = (field: string) => {
    if (changed[field] != null) dropped.push(field);
    delete changed[field];
  };
  for (const field of quirks.drop ?? []) drop(field);
  for (const { models, fields } of quirks.dropFor ?? [])
    if (models.test(request.model)) fields.forEach(drop);
  if (quirks.noMaxCompletionTokens && changed["max_completion_tokens"] != null) {
    changed["max_tokens"] = changed["max_completion_tokens"];
    delete changed["max_completion_tokens"];
  }
  if (quirks.noMaxTokensFor?.test(request.model) && changed["max_tokens"] != null) {
    changed["max_completion_tokens"] ??= changed["max_tokens"];
    delete changed["max_tokens"];
  }
  changed.messages = request.messages.map((message) => {
    let fitted = message;
    if (quirks.noDeveloper && message.role === "developer") fitted = { ...fitted, role: "system" };
    if (quirks.noReasoningBack && bringsReasoningBack(message)) {
      const { reasoning_content: _, ...rest } = fitted;
      fitted = rest;
    }
    return quirks.strictMessages && hasForeignFields(fitted)
      ? withoutForeignFields(fitted)
      : fitted;
  });
  return { request: changed, dropped };
}

function bringsReasoningBack(message: ChatMessage): boolean {
  return (
    message.role === "assistant" &&
    message.reasoning_content != null &&
    (message.tool_calls ?? []).length === 0
  );
}
