/** Reads the tags of a request, by which reports show its purpose. */
import { isObject } from "portico/provider";

const MAX_TAGS = 10;
const MAX_TAG_LENGTH = 64;

/**
 * Reads the header `x-portico-tags` (separated by commas) and `metadata.tags` of the body (a list, or a string
 * separated by commas).
 */
export function tagsOf(header: string | string[] | undefined, metadata: unknown): string[] {
  const bodyTags = isObject(metadata) ? metadata["tags"] : undefined;
  const names = [...splitTags(header), ...splitTags(bodyTags)];
  return [...new Set(names.map((name) => name.slice(0, MAX_TAG_LENGTH)))].slice(0, MAX_TAGS);
}

function splitTags(value: unknown): string[] {
  const texts = (Array.isArray(value) ? value : [value]).filter((text) => typeof text === "string");
  return texts
    .flatMap((text) => text.split(","))
    .map((name) => name.replaceAll(CONTROL, "").trim())
    .filter((name) => name !== "");
}

const CONTROL = /\p{Cc}/gu;
