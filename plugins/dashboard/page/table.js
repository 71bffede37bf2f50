/** Tables that a reader sorts and searches. On a narrow screen each row becomes a card. */
import { h } from "./elements.js";
import { count } from "./format.js";
import { emptyText } from "./layout.js";

/** The number of rows from which a table has a search field. */
const SEARCH_FROM = 8;
/** The number of rows from which a table offers a sort order on a narrow screen. */
const SORT_FROM = 3;

/** The reader's sort order and search text of each table, until the console is closed or the reader signs out. */
const states = new Map();
addEventListener("portico:signed-out", () => states.clear());

function stateOf(key, sort) {
  if (!states.has(key)) states.set(key, { text: "", column: sort?.column, down: sort?.down });
  return states.get(key);
}

/**
 * Creates a table that a reader can sort and search. The arrow keys move through the links of the first column.
 *
 * - `key`: identifies the table, so that a later rendering keeps the reader's choice.
 * - `columns`: `{ title, cell?: row => node, kind?: "number" | "word" | "plot" | "text" | "actions", value?: row => number |
 *   string }`. A column with `value` can be sorted by it, and shows it if there is no `cell`. A column of the kind `text` has
 *   a separate line in a card.
 * - `sort`: `{ column: title, down: true }`, the initial order. Without it, the rows keep their order.
 * - `groupOf(row)`: returns the title of the row's group, one of `groups`, which are in display order.
 */
export function dataTable({ key, columns, rows, empty, sort, caption, groups = [""], groupOf }) {
  const state = stateOf(key, sort);
  if (rows.length === 0) return emptyText(empty);
  const lines = rows.map((row) => ({ row, element: lineOf(columns, row) }));
  const bodies = groups.map((title) => groupBody(title, columns.length));
  const matches = h("span", { class: "muted small", role: "status" });
  const heads = columns.map((column) => headOf(column, () => sortBy(column)));
  const sortBy = ({ title, kind }) => {
    state.down = state.column === title ? !state.down : kind === "number";
    state.column = title;
    draw();
  };
  const draw = () => {
    const visible = sortLines(lines, columns, state).filter((line) => isMatch(line, state.text));
    for (const { title, body, head } of bodies) {
      const members = groupOf ? visible.filter(({ row }) => groupOf(row) === title) : visible;
      body.replaceChildren(...(head && members.length > 0 ? [head] : []));
      body.append(...members.map(({ element }) => element));
    }
    for (const [index, { title }] of columns.entries()) markOrder(heads[index], title, state);
    matches.textContent = state.text === "" ? "" : `${visible.length} of ${rows.length}`;
  };
  draw();
  const hasSearch = rows.length >= SEARCH_FROM || state.text !== "";
  const isSortable = rows.length >= SORT_FROM && columns.some(({ value }) => value);
  const tools = h(
    "div",
    { class: "row table-tools" },
    hasSearch && searchField(key, state, draw),
    isSortable && sortField(key, columns, state, draw),
    matches,
  );
  const label = caption && h("caption", { class: "visually-hidden" }, caption);
  const head = h("thead", {}, h("tr", {}, heads));
  return h(
    "div",
    { class: "data-table" },
    tools,
    h(
      "table",
      { onkeydown: moveByKeys },
      label,
      head,
      bodies.map(({ body }) => body),
    ),
  );
}

/** Creates the body of one group. Its title is shown only if the group has rows. */
function groupBody(title, width) {
  const head =
    title && h("tr", { class: "group" }, h("th", { colspan: width, scope: "rowgroup" }, title));
  return { title, head, body: h("tbody", {}) };
}

function lineOf(columns, row) {
  return h(
    "tr",
    {},
    columns.map(({ title, value, cell = (row) => value(row) ?? "–", kind }) =>
      h("td", { "data-title": title, class: kind }, h("div", {}, cell(row))),
    ),
  );
}

/** Defines a column of numbers that `format` formats. */
export const numberColumn = (title, value, format = count) => ({
  title,
  kind: "number",
  value,
  cell: (row) => format(value(row), row),
});

function headOf({ title, kind, value }, sort) {
  const button = value
    ? h("button", { type: "button", class: "sort", onclick: sort }, title)
    : title;
  return h("th", { scope: "col", class: kind }, button);
}

function markOrder(head, title, { column, down }) {
  if (column === title) head.ariaSort = down ? "descending" : "ascending";
  else head.removeAttribute("aria-sort");
}

function searchField(key, state, draw) {
  const oninput = ({ currentTarget }) => {
    state.text = currentTarget.value;
    draw();
  };
  return h("input", {
    type: "search",
    "aria-label": "Search this table",
    placeholder: "Search",
    "data-key": `search-${key}`,
    value: state.text,
    oninput,
  });
}

/** Creates the choice of the sort order for narrow screens, on which the headings are hidden. */
function sortField(key, columns, state, draw) {
  const orders = columns
    .filter(({ value }) => value)
    .flatMap(({ title }) => [
      { title, down: false, name: `${title}, ascending` },
      { title, down: true, name: `${title}, descending` },
    ]);
  const onchange = ({ currentTarget }) => {
    const order = orders[currentTarget.selectedIndex - 1];
    state.column = order?.title;
    state.down = order?.down;
    draw();
  };
  return h(
    "select",
    { class: "narrow-only", "aria-label": "Sort by", "data-key": `sort-${key}`, onchange },
    h("option", {}, "Order: as listed"),
    orders.map(({ title, down, name }) =>
      h("option", { selected: state.column === title && Boolean(state.down) === down }, name),
    ),
  );
}

/** Returns true if the row contains every word of the search. */
function isMatch({ element }, text) {
  const content = element.textContent.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => content.includes(word));
}

function sortLines(lines, columns, { column, down }) {
  const value = columns.find(({ title }) => title === column)?.value;
  if (!value) return lines;
  const direction = down ? -1 : 1;
  return [...lines].sort((a, b) => compare(value(a.row), value(b.row), direction));
}

/** Compares two values. Missing values come last in either direction. */
function compare(a, b, direction) {
  const isMissing = (value) => value === undefined || value === null;
  if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * String(a).localeCompare(String(b), undefined, { numeric: true });
}

function moveByKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !event.target.matches("td:first-child a")) return;
  const links = [...event.currentTarget.querySelectorAll("tbody td:first-child a")];
  const next = links[links.indexOf(event.target) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** Creates a plain table. `columns` are `[title, row => node, kind?]`. */
export function table(columns, rows, empty) {
  if (rows.length === 0) return emptyText(empty);
  const definitions = columns.map(([title, cell, kind]) => ({ title, cell, kind }));
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, definitions.map(headOf))),
    h(
      "tbody",
      {},
      rows.map((row) => lineOf(definitions, row)),
    ),
  );
}
