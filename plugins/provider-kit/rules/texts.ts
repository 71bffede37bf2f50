/** Reads the texts of messages, for rules about turns. */
import type { JsonObject } from "../request/read-value.ts";
import type { RuleMessage } from "../types/rules.ts";

/** The text of a turn that exists only because a provider requires one: the shortest that every API accepts. */
export const FILLER = ".";

export function isSystem({ role }: RuleMessage): boolean {
  return role === "system" || role === "developer";
}

export function hasCalls(message: RuleMessage): boolean {
  const calls = message["tool_calls"];
  return (Array.isArray(calls) && calls.length > 0) || message["function_call"] != null;
}

/** True for a message that providers with strict rules omit: only white space, and no call or result. */
export function isBlank(message: RuleMessage): boolean {
  if (message.role === "tool" || message.role === "function" || hasCalls(message)) return false;
  if (typeof message["refusal"] === "string" && message["refusal"] !== "") return false;
  const { content } = message;
  if (typeof content === "string") return content.trim() === "";
  if (!Array.isArray(content)) return true;
  return content.every((part) => !isFilled(part));
}

/** True for a text part that consists only of white space. */
export function isBlankText(part: unknown): boolean {
  return !isFilled(part);
}

/** True for a part that is not a text, and for a text that is not blank. */
function isFilled(part: unknown): boolean {
  if (typeof part === "string") return part.trim() !== "";
  const { type, text, refusal } = (part ?? {}) as JsonObject;
  if (type === "text") return typeof text === "string" && text.trim() !== "";
  return type !== "refusal" || (typeof refusal === "string" && refusal.trim() !== "");
}

/** Joins the texts of a message. */
export function messageText({ content }: RuleMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((part) => {
    const text: unknown = typeof part === "string" ? part : (part as JsonObject)?.["text"];
    return typeof text === "string" ? [text] : [];
  });
  return texts.join("\n");
}
