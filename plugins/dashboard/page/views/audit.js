/** The page of the audit trail: who changed what, with filters, and the values before and after one change. */
import { attempt, get } from "../api.js";
import {
  ago,
  badge,
  dataTable,
  entryLink,
  exactTime,
  facts,
  h,
  idText,
  json,
  notice,
  problem,
} from "../dom.js";
import { filters } from "../filters.js";
import { lengthOf, listEnd } from "../lists.js";
import { auditSentence } from "./audit-sentence.js";

const FIRST = 50;

const auditFilters = filters({
  choices: [
    ["outcome", "Outcome", ["made", "refused", "failed"]],
    ["via", "Via", ["console", "command line", "http", "file", "gateway"]],
    ["since", "Since", ["1h", "24h", "7d", "30d"]],
  ],
  texts: [
    ["action", "Route, entry or configuration key contains"],
    ["principal", "Principal"],
    ["address", "Address"],
  ],
});

export const audit = {
  id: "audit",
  title: "Audit trail",
  tools: auditFilters.form,
  async load(_id, query) {
    const parameters = new URLSearchParams({ limit: lengthOf("audit", FIRST) });
    for (const name of auditFilters.names)
      if (query.get(name)) parameters.set(name, query.get(name));
    return attempt(get(`/audit?${parameters}`));
  },
  render({ value, error }, id, query) {
    if (error) return h("section", {}, notice(error));
    const empty = auditFilters.names.some((name) => query.get(name))
      ? "No change matches these filters."
      : "Nothing has been changed yet.";
    return h(
      "section",
      {},
      dataTable({ key: "audit", columns: columns(id, query), rows: value.entries, empty }),
      listEnd("audit", FIRST, value.entries.length),
    );
  },
  detail: {
    load: (id) => get(`/audit/${encodeURIComponent(id)}`),
    name: auditSentence,
    render: renderDetail,
  },
};

/** Returns the columns; fewer if a change is open next to the list. */
function columns(openId, query) {
  const change = {
    title: "change",
    value: ({ at }) => at,
    cell: (entry) => [
      entryLink("audit", entry.id, idText(auditSentence(entry)), {
        isCurrent: entry.id === openId,
        query,
      }),
      h("div", { class: "muted small" }, entry.principal, " · ", ago(entry.at)),
    ],
  };
  const outcome = {
    title: "outcome",
    kind: "word",
    value: (entry) => entry.outcome,
    cell: outcomeOf,
  };
  if (openId !== undefined) return [change, outcome];
  const changed = { title: "changed", value: keysOf, cell: keysOf };
  const via = {
    title: "via",
    value: (entry) => entry.via,
    cell: ({ via, address }) => [via, address ? h("div", { class: "muted small" }, address) : null],
  };
  return [change, changed, via, outcome];
}

const MAX_KEYS = 3;

/** Returns true for members that change along with every change of an entry. */
const isIncidental = ({ key }) => /^(updatedAt|generation|load(edAt|Ms)|setupMs|state\b)/.test(key);

function keysOf({ changes }) {
  const keys = changes.filter((each) => !isIncidental(each)).map(({ key }) => key);
  if (keys.length <= MAX_KEYS) return keys.join(", ") || "–";
  return `${keys.slice(0, MAX_KEYS).join(", ")} and ${keys.length - MAX_KEYS} more`;
}

const OUTCOME_KINDS = { made: "good", refused: "dull" };

function outcomeOf({ outcome, error, count }) {
  const times = count === undefined ? "" : ` ${count} times`;
  return [
    badge(outcome + times, OUTCOME_KINDS[outcome] ?? "bad"),
    error ? h("div", { class: "muted small" }, error.code) : null,
  ];
}

function renderDetail(entry) {
  return [
    facts([
      ["outcome", outcomeOf(entry)],
      ["principal", entry.principal],
      ["via", entry.via],
      ["address", entry.address],
      ["route", entry.action],
      ["entry", entry.entry],
      ["time", exactTime(entry.at)],
      ["status", entry.status],
      ["request id", entry.requestId],
    ]),
    problem(entry.error?.message),
    entry.changes.length === 0 ? null : h("h3", {}, "Before and after"),
    entry.changes.map(difference),
    entry.request === undefined ? null : [h("h3", {}, "Requested change"), json(entry.request)],
  ];
}

function difference({ key, before, after }) {
  return h(
    "div",
    { class: "difference" },
    h("span", { class: "muted small" }, key),
    before === undefined ? null : h("pre", { class: "removed" }, textOf(before)),
    after === undefined ? null : h("pre", { class: "added" }, textOf(after)),
  );
}

function textOf(value) {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
