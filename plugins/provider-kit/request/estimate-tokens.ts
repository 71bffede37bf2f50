/** Estimates the tokens of a request in any format: four characters per token, and the providers' own figures for images. */

const CHARACTERS_PER_TOKEN = 4;
const IMAGE_TOKENS = 1500;
const MESSAGE_TOKENS = 4;
/** A page of a PDF has some 50 kB of base64 and some 2,000 tokens. */
const BASE64_CHARACTERS_PER_TOKEN = 25;
const IMAGE_TYPES = new Set<unknown>(["image", "image_url", "input_image"]);

/** Estimates the tokens of a prompt, messages or items, and of tools. */
export function estimateTokens(messages: unknown, ...others: readonly unknown[]): number {
  const count = Array.isArray(messages) ? messages.length : 0;
  return Math.ceil(countTokens([messages, ...others])) + count * MESSAGE_TOKENS;
}

/** Estimates the tokens of a text with this number of characters. */
export function tokensOfCharacters(count: number): number {
  return Math.ceil(count / CHARACTERS_PER_TOKEN);
}

function countTokens(value: unknown): number {
  if (typeof value === "string") return value.length / CHARACTERS_PER_TOKEN;
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countTokens(item), 0);
  if (typeof value !== "object" || value === null) return 0;
  return countObjectTokens(value as Record<string, unknown>);
}

function countObjectTokens(fields: Record<string, unknown>): number {
  if (IMAGE_TYPES.has(fields.type)) return IMAGE_TOKENS;
  const source = fields.source as { type?: unknown; data?: unknown } | undefined;
  const data = source?.type === "base64" ? source.data : fields.file_data;
  if (typeof data === "string") return data.length / BASE64_CHARACTERS_PER_TOKEN;
  return Object.entries(fields).reduce(
    (sum, [key, item]) => sum + (key.length + 2) / CHARACTERS_PER_TOKEN / 2 + countTokens(item),
    0,
  );
}
