/** Estimates the tokens of a request in any format: four characters per token, and the providers' own figures for images. */

const CHARACTERS = 4;
const IMAGE = 1500;
const MESSAGE = 4;
/** A page of a PDF is some 50 kB of base64 and some 2,000 tokens. */
const BASE64_CHARACTERS = 25;
const IMAGES = new Set<unknown>(["image", "image_url", "input_image"]);

/** Of a prompt, messages or items, and tools. */
export function estimateTokens(messages: unknown, ...others: readonly unknown[]): number {
  const count = Array.isArray(messages) ? messages.length : 0;
  return Math.ceil(weigh([messages, ...others])) + count * MESSAGE;
}

/** Of a text of this length. */
export function tokensOfCharacters(count: number): number {
  return Math.ceil(count / CHARACTERS);
}

function weigh(value: unknown): number {
  if (typeof value === "string") return value.length / CHARACTERS;
  if (typeof value === "number" || typeof value === "boolean") return 1;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + weigh(item), 0);
  if (typeof value !== "object" || value === null) return 0;
  return weighObject(value as Record<string, unknown>);
}

function weighObject(fields: Record<string, unknown>): number {
  if (IMAGES.has(fields.type)) return IMAGE;
  const source = fields.source as { type?: unknown; data?: unknown } | undefined;
  const data = source?.type === "base64" ? source.data : fields.file_data;
  if (typeof data === "string") return data.length / BASE64_CHARACTERS;
  return Object.entries(fields).reduce(
    (sum, [key, item]) => sum + (key.length + 2) / CHARACTERS / 2 + weigh(item),
    0,
  );
}
