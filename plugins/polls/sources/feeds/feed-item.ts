import { parseFeedDate } from "./feed-date.ts";

export interface FeedItem {
  id?: string;
  title?: string;
  link?: string;
  summary?: string;
  content?: string;
  author?: string;
  /** ISO 8601 if the feed's date can be parsed, else its text. */
  published?: string;
  updated?: string;
  categories?: string[];
}

/** Removes members without a value, so that they do not affect the hash that identifies an item by its content. */
export function omitEmptyFields(item: FeedItem): FeedItem {
  return Object.fromEntries(
    Object.entries(item).filter(
      ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

/** Converts a date to ISO 8601. Returns the text itself if it cannot be parsed. */
export function toIsoOrText(text: string | undefined): string | undefined {
  const ms = text === undefined ? undefined : parseFeedDate(text);
  return ms === undefined ? text : new Date(ms).toISOString();
}
