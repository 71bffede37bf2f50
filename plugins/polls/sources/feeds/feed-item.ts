import { parseFeedDate } from "./feed-date.ts";

export interface FeedItem {
  id?: string;
  title?: string;
  link?: string;
  summary?: string;
  content?: string;
  author?: string;
  /** ISO 8601 if the feed's date can be parsed, else its own text. */
  published?: string;
  updated?: string;
  categories?: string[];
}

/** Without the keys that have no value: an item's content is what tells it from others. */
export function fillItem(item: FeedItem): FeedItem {
  return Object.fromEntries(
    Object.entries(item).filter(
      ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

/** A date as ISO 8601, or its own text. */
export function isoOr(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : parseFeedDate(text);
  return ms === undefined ? text : new Date(ms).toISOString();
}
