/** Shows the removed and added lines of a text, with a few lines of context. */
import { h } from "../dom.js";

/** The lines of context before and after a change. */
const CONTEXT = 2;
/** A longer text is shown as replaced, since the comparison takes quadratic time. */
const MAX_LINES = 600;

export function lineDifferences(before, after) {
  const lines = compare(before.split("\n"), after.split("\n"));
  const isNear = (index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const visible = lines.filter((_, index) => isNear(index));
  if (visible.length === 0) return h("p", { class: "empty" }, "No lines changed.");
  return h("div", { class: "difference lines" }, visible.map(lineOf));
}

const CLASSES = { "-": "removed", "+": "added", " ": "" };
const lineOf = ({ sign, text }) => h("pre", { class: CLASSES[sign] }, `${sign} ${text}`);

function compare(before, after) {
  if (before.length > MAX_LINES || after.length > MAX_LINES)
    return [...withSign("-", before), ...withSign("+", after)];
  const lengths = commonLengths(before, after);
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i] });
      i += 1;
      j += 1;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
      lines.push({ sign: "-", text: before[i] });
      i += 1;
    } else {
      lines.push({ sign: "+", text: after[j] });
      j += 1;
    }
  }
  return [...lines, ...withSign("-", before.slice(i)), ...withSign("+", after.slice(j))];
}

const withSign = (sign, texts) => texts.map((text) => ({ sign, text }));

/** Returns the table of longest common subsequences: `lengths[i][j]` is the length for the lines from `i` and `j` on. */
function commonLengths(before, after) {
  const lengths = Array.from({ length: before.length + 1 }, () =>
    new Array(after.length + 1).fill(0),
  );
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i][j] =
        before[i] === after[j]
          ? lengths[i + 1][j + 1] + 1
          : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}
