/** Tags that a client gives a request, so that reports can show its purpose. */
import { isObject } from "portico/provider";

const MOST_TAGS = 10;
const LONGEST_TAG = 64;

/** From the header `x-portico-tags` (with commas) and `metadata.tags` of the body (a list, or a text with commas). */
export function tagsOf(header: string | string[] | undefined, metadata: unknown): string[] {
  const inBody = isObject(metadata) ? metadata["tags"] : undefined;
  const names = [...namesIn(header), ...namesIn(inBody)];
  return [...new Set(names.map((name) => name.slice(0, LONGEST_TAG)))].slice(0, MOST_TAGS);
}

function namesIn(value: unknown): string[] {
  const texts = (Array.isArray(value) ? value : [value]).filter((text) => typeof text === "string");
  return texts
    .flatMap((text) => text.split(","))
    .map((name) => name.replaceAll(CONTROL, "").trim())
    .filter((name) => name !== "");
}

const CONTROL = /\p{Cc}/gu;
