/**
 * Finds the texts of a chat that a reader sees: the text of a message, a refusal in its place, the transcript of audio.
 */
import type { ChatMessage } from "portico/provider";
import { isObject } from "../openai/fields.ts";
import { withoutTokens } from "portico/secrets";

export const TEXTS = ["content", "refusal", "transcript"] as const;
export type TextName = (typeof TEXTS)[number];

/** Returns the text of a message, or of the part of it in a chunk; undefined if there is none. */
export function textIn(message: Partial<ChatMessage>, name: TextName): string | undefined {
  const holder = name === "transcript" ? message["audio"] : message;
  const text = isObject(holder) ? holder[name] : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Returns the message with another text. Audio data would still speak the old words, so it is removed. */
export function withText<M extends Partial<ChatMessage>>(
  message: M,
  name: TextName,
  text: string,
): M {
  if (name !== "transcript") return { ...message, [name]: text };
  const audio = isObject(message["audio"]) ? message["audio"] : {};
  return {
    ...message,
    audio: { ...audio, transcript: text, ...(audio["data"] != null && { data: "" }) },
  };
}

/** Whether the choice has tokens without a text: handlers could not see their content. */
export function hasStrayTokens(
  { logprobs }: { logprobs?: unknown },
  message: Partial<ChatMessage>,
): boolean {
  return logprobs != null && TEXTS.every((name) => textIn(message, name) === undefined);
}

/** Returns the choice with another message, and without tokens. */
export function withMessage<C extends object>(choice: C, message: Partial<ChatMessage>): C {
  const key = "delta" in choice ? "delta" : "message";
  return withoutTokens({ ...choice, [key]: message }) as C;
}
