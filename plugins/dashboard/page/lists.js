/** Lists that show their newest entries first, and more on demand. */
import { action, h } from "./dom.js";

/** The number of entries that a route returns at most. */
const MAX_LENGTH = 1000;
const lengths = new Map();

/** Returns the number of entries to request: `first`, until the reader asks for more. */
export const lengthOf = (list, first) => Math.min(lengths.get(list) ?? first, MAX_LENGTH);

/** Creates the end of a list that shows `count` entries, with a button for more; null if there are no more. */
export function listEnd(list, first, count) {
  const length = lengthOf(list, first);
  if (count < length) return null;
  const showMore = () => {
    lengths.set(list, length * 2);
    return "Showing more rows";
  };
  return h(
    "p",
    { class: "muted" },
    `Showing the newest ${count}. `,
    length < MAX_LENGTH ? action("Show more", `more-${list}`, showMore) : null,
  );
}
