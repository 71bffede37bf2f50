/** Parses JSON Feed 1.0 and 1.1. */
import { exactJson } from "portico";
import { TimeSlices } from "../../time-slices.ts";
import { parseDocument } from "../json-text.ts";
import { type FeedItem, omitEmptyFields, toIsoOrText } from "./feed-item.ts";
import { CheckFailed, checkItemCount } from "../source.ts";

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const asText = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" || exactJson.isNumber(value)
    ? String(value)
    : undefined;

export function parseJsonFeed(text: string): Promise<FeedItem[]> {
  let document: unknown;
  try {
    document = parseDocument(text);
  } catch (cause) {
    if (cause instanceof CheckFailed) throw cause;
    throw new CheckFailed("The response is neither XML nor valid JSON: it may be cut off.", {
      cause,
    });
  }
  const items = isObject(document) ? document["items"] : undefined;
  if (!Array.isArray(items))
    throw new CheckFailed("The response is not a JSON Feed: it has no items.");
  return TimeSlices.map(checkItemCount(items.filter(isObject)), (item) => {
    const author = asList(item["authors"])[0] ?? item["author"];
    return omitEmptyFields({
      id: asText(item["id"]),
      title: asText(item["title"]),
      link: asText(item["url"]) ?? asText(item["external_url"]),
      summary: asText(item["summary"]),
      content: asText(item["content_text"]) ?? asText(item["content_html"]),
      author: isObject(author) ? asText(author["name"]) : undefined,
      published: toIsoOrText(asText(item["date_published"])),
      updated: toIsoOrText(asText(item["date_modified"])),
      categories: asList(item["tags"]).flatMap((tag) => asText(tag) ?? []),
    });
  });
}
