/** Finds the texts of a chat that a reader sees: the text of a message, a refusal in its place, the words of a sound. */
import type { ChatMessage } from "portico/provider";
import { isObject } from "../openai/fields.ts";
import { withoutTokens } from "portico/secrets";

export const TEXTS = ["content", "refusal", "transcript"] as const;
export type TextName = (typeof TEXTS)[number];

/** Undefined where there is none. Of a message, or of what a chunk adds to it. */
export function textIn(message: Partial<ChatMessage>, name: TextName): string | undefined {
  const holder = name === "transcript" ? message["audio"] : message;
  const text = isObject(holder) ? holder[name] : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** The same with another text. A sound would say what its words said: it goes. */
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

/** It has tokens, and no text that they are the tokens of: handlers could not see what they say. */
export function hasStrayTokens(
  { logprobs }: { logprobs?: unknown },
  message: Partial<ChatMessage>,
): boolean {
  return logprobs != null && TEXTS.every((name) => textIn(message, name) === undefined);
}

/** Of a choice whose text was changed. */
export function withMessage<C extends object>(choice: C, message: Partial<ChatMessage>): C {
  const key = "delta" in choice ? "delta" : "message";
  return withoutTokens({ ...choice, [key]: message }) as C;
}
