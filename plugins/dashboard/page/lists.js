/** Lists that go on: the newest of them first, and more where somebody asks. */
import { action, h } from "./dom.js";

/** What routes give at once. */
const MOST = 1000;
const lengths = new Map();

/** How many entries of a list to request: `first`, until the reader asks for more. */
export const lengthOf = (list, first) => Math.min(lengths.get(list) ?? first, MOST);

/** To stand at the end of a list of so many: what is shown of it, and a button for more. Null where that is all. */
export function more(list, first, count) {
  const length = lengthOf(list, first);
  if (count < length) return null;
  const widen = () => {
    lengths.set(list, length * 2);
    return "More rows are shown";
  };
  return h(
    "p",
    { class: "muted" },
    `The newest ${count} are shown. `,
    length < MOST ? action("Show more", `more-${list}`, widen) : null,
  );
}
