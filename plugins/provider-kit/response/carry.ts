/**
 * Signed reasoning travels with the client's own copy of the conversation: the gateway keeps nothing. It rides in
 * `extra_content` and not in the id of the call, since ids longer than 40 characters are refused by OpenAI (to which a
 * conversation may fail over). The origin names whose models accept a signature; it is left out for all others.
 */
import { createHash } from "node:crypto";

/** One block of reasoning: readable with its signature, or sealed. */
export type ThinkingBlock = { text: string; signature: string } | { sealed: string };

/**
 * For whom signatures are good, in twelve characters. Claude's are good for the model, by whatever key; Gemini's for one
 * model behind one address and key.
 */
export function originOf(target: { model: string; baseUrl?: string; apiKey?: string }): string {
  const hash = createHash("sha256").update(
    `${target.baseUrl ?? ""}\n${target.model}\n${target.apiKey ?? ""}`,
  );
  return hash.digest("base64url").slice(0, 12);
}

/** `extra_content` for an assistant message. */
export function carryThinking(
  origin: string,
  thinking: readonly ThinkingBlock[],
): Record<string, unknown> {
  return { portico: { origin, thinking } };
}

/** The blocks that `extra_content` holds for this origin; none for another's. */
export function carriedThinking(extra: unknown, origin: string): ThinkingBlock[] {
  const portico = own(extra, "portico");
  const blocks = own(portico, "thinking");
  if (own(portico, "origin") !== origin || !Array.isArray(blocks)) return [];
  return blocks.flatMap((block): ThinkingBlock[] => {
    const text = own(block, "text");
    const signature = own(block, "signature");
    const sealed = own(block, "sealed");
    if (typeof sealed === "string") return [{ sealed }];
    return typeof text === "string" && typeof signature === "string" ? [{ text, signature }] : [];
  });
}

/** `extra_content` for a tool call, in the form of Google's own OpenAI endpoint. */
export function carrySignature(origin: string, signature: string): Record<string, unknown> {
  return { google: { thought_signature: signature }, portico: { origin } };
}

/** The signature of a call; one without an origin came from Google itself and is good. */
export function carriedSignature(extra: unknown, origin: string): string | undefined {
  const signature = own(own(extra, "google"), "thought_signature");
  const from = own(own(extra, "portico"), "origin");
  return typeof signature === "string" && (from === undefined || from === origin)
    ? signature
    : undefined;
}

function own(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
