/**
 * The client's own copy of the conversation carries signed reasoning, so that the gateway stores nothing. It is in
 * `extra_content` and not in the id of the call, because OpenAI (to which a conversation may fail over) refuses ids longer
 * than 40 characters. The origin identifies the models that accept a signature, which is omitted for all others.
 */
import { createHash } from "node:crypto";

/** One block of reasoning: readable text with its signature, or data that only the provider can read. */
export type ThinkingBlock = { text: string; signature: string } | { sealed: string };

/**
 * Identifies the models that accept signatures, in twelve characters. Claude's signatures are valid for the model with any
 * key, Gemini's for one model at one address with one key.
 */
export function originOf(target: { model: string; baseUrl?: string; apiKey?: string }): string {
  const hash = createHash("sha256").update(
    `${target.baseUrl ?? ""}\n${target.model}\n${target.apiKey ?? ""}`,
  );
  return hash.digest("base64url").slice(0, 12);
}

/** Returns `extra_content` for an assistant message. */
export function carryThinking(
  origin: string,
  thinking: readonly ThinkingBlock[],
): Record<string, unknown> {
  return { portico: { origin, thinking } };
}

/** Returns the blocks in `extra_content` if they are for this origin. */
export function carriedThinking(extra: unknown, origin: string): ThinkingBlock[] {
  const portico = memberOf(extra, "portico");
  const blocks = memberOf(portico, "thinking");
  if (memberOf(portico, "origin") !== origin || !Array.isArray(blocks)) return [];
  return blocks.flatMap((block): ThinkingBlock[] => {
    const text = memberOf(block, "text");
    const signature = memberOf(block, "signature");
    const sealed = memberOf(block, "sealed");
    if (typeof sealed === "string") return [{ sealed }];
    return typeof text === "string" && typeof signature === "string" ? [{ text, signature }] : [];
  });
}

/** Returns `extra_content` for a tool call, in the form of Google's own OpenAI endpoint. */
export function carrySignature(origin: string, signature: string): Record<string, unknown> {
  return { google: { thought_signature: signature }, portico: { origin } };
}

/** Returns the signature of a call if it is for this origin. A signature without an origin came from Google itself. */
export function carriedSignature(extra: unknown, origin: string): string | undefined {
  const signature = memberOf(memberOf(extra, "google"), "thought_signature");
  const signatureOrigin = memberOf(memberOf(extra, "portico"), "origin");
  return typeof signature === "string" &&
    (signatureOrigin === undefined || signatureOrigin === origin)
    ? signature
    : undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
