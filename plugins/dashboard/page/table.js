/** Tables that a reader sorts and searches. On a narrow screen each row becomes a card. */
import { h } from "./elements.js";
import { count } from "./format.js";
import { emptyText } from "./layout.js";

/** From how many rows on a table has a search field of its own. */
const SEARCH_FROM = 8;
/** From how many rows on a narrow screen offers orders. */
const SORT_FROM = 3;

/** How the reader sorted and searched each table, while the page is open. */
const states = new Map();
addEventListener("portico:signed-out", () => states.clear());

function stateOf(key, sort) {
  if (!states.has(key)) states.set(key, { text: "", column: sort?.column, down: sort?.down });
  return states.get(key);
}

/**
 * A table that a reader sorts and searches. `key` names it on this page, so that a later rendering keeps the reader's
 * choice. `columns`: `{ title, cell?: row => node, kind?: "number" | "word" | "plot" | "text" | "actions", value?: row =>
 * number | string }`; a column with `value` can be sorted by it, and shows it where there is no `cell`; one of the kind
 * `text` has a line of its own in a card. `sort`: `{ column: title, down: true }`, the initial order;
 * without it the rows stay in the given order. `groupOf(row)`: the title that a row stands below, one of `groups`, which
 * are in their order. The arrow keys move through the links of the first column.
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
    const visible = sorted(lines, columns, state).filter((line) => isMatch(line, state.text));
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

/** Leaves out the titles of groups without rows. */
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

/** A column of numbers, each written by `format`. */
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

/** On a narrow screen no headings are visible, so this takes their place. */
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

/** A row matches where it holds every word of the search. */
function isMatch({ element }, text) {
  const content = element.textContent.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => content.includes(word));
}

function sorted(lines, columns, { column, down }) {
  const value = columns.find(({ title }) => title === column)?.value;
  if (!value) return lines;
  const direction = down ? -1 : 1;
  return [...lines].sort((a, b) => compare(value(a.row), value(b.row), direction));
}

/** Missing values come last in either direction. */
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

/** A plain table. `columns`: `[title, row => node, kind?]`. */
export function table(columns, rows, empty) {
  if (rows.length === 0) return emptyText(empty);
  const named = columns.map(([title, cell, kind]) => ({ title, cell, kind }));
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, named.map(headOf))),
    h(
      "tbody",
      {},
      rows.map((row) => lineOf(named, row)),
    ),
  );
}
