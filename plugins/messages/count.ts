/** A guess at tokens: about four characters each, and what providers say of images. */

const CHARACTERS = 4;
const IMAGE = 1500;
const MESSAGE = 4;

/** Of `system`, `messages` and `tools`. */
export function estimateTokens(body: Record<string, unknown>): number {
  const messages = Array.isArray(body.messages) ? body.messages.length : 0;
  return Math.ceil(weigh([body.system, body.messages, body.tools])) + messages * MESSAGE;
}

function weigh(value: unknown): number {
  if (typeof value === "string") return value.length / CHARACTERS;
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weigh(item), 0);
  if (typeof value !== "object" || value === null) return 0;
  const fields = value as Record<string, unknown>;
  const source = fields.source as { type?: unknown; data?: unknown } | undefined;
  if (fields.type === "image") return IMAGE;
  // A page of a PDF is some 50 kB of base64 and some 2,000 tokens.
  if (source?.type === "base64" && typeof source.data === "string") return source.data.length / 25;
  return Object.entries(fields).reduce(
    (sum, [key, item]) => sum + (key.length + 2) / CHARACTERS / 2 + weigh(item),
    0,
  );
}
