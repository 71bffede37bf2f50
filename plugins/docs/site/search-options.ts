/** Options with which the build indexes the pages, and a page and the test search them. */
import type { Options, SearchOptions } from "minisearch";

export const indexOptions: Options = {
  fields: ["title", "words", "text"],
  storeFields: ["title", "url", "page", "group"],
};

/** Weights by group. A reader who searches has a task, so guides come first and generated pages last. */
const weights: Readonly<Record<string, number>> = {
  Guides: 1.6,
  Reference: 0.5,
  API: 0.4,
  Project: 0.5,
};

export const searchOptions: SearchOptions = {
  prefix: true,
  fuzzy: 0.15,
  boost: { title: 3, words: 3 },
  boostDocument: (_id, _term, stored) => weights[String(stored?.["group"])] ?? 1,
};
