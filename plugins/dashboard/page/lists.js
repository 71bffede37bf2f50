/** Lists that go on: the newest of them first, and more where somebody asks. */
import { action, h } from "./dom.js";

/** What routes give at once. */
const MOST = 1000;
const wanted = new Map();

/** How many of a list are asked for; `first` of them until more were wanted. */
export const lengthOf = (list, first) => Math.min(wanted.get(list) ?? first, MOST);

/** To stand at the end of a list of so many: what is shown of it, and a button for more. Null where that is all. */
export function more(list, first, count) {
  const asked = lengthOf(list, first);
  if (count < asked) return null;
  const widen = () => {
    wanted.set(list, asked * 2);
    return "More is shown";
  };
  return h(
    "p",
    { class: "muted" },
    `The newest ${count} are shown. `,
    asked < MOST ? action("Show more", `more-${list}`, widen) : null,
  );
}
