/** The page of polls: their sources, their intervals, and the items that they found. */
import { change, post } from "../api.js";
import { action, badge, count, facts, h, href, openDialog, problem } from "../dom.js";
import { openForm } from "../forms.js";
import {
  patchOf,
  payloadFields,
  payloadOf,
  schedulePage,
  taskText,
  withoutUndefined,
} from "./schedules.js";

const pathOf = (id) => `/polls/${encodeURIComponent(id)}`;
const placeOf = ({ source }) => `${source.kind} ${source.url ?? source.path ?? ""}`;

export const polls = schedulePage({
  id: "polls",
  title: "Polls",
  noun: "poll",
  root: "/polls",
  runLabel: "Check",
  list: ({ polls: all }) => all,
  stateOf: ({ nextCheckAt, lastCheckAt }) => ({ nextAt: nextCheckAt, lastAt: lastCheckAt }),
  summary: placeOf,
  task: taskText,
  details: ({ source, payload }) => [
    ["watches", placeOf({ source })],
    ["items", source.items],
    ["item key", source.key],
    ["selector", source.selector],
    ["session", payload?.session],
  ],
  buttons: ({ id, name }) => action("Test", `test-${id}`, () => testPoll(id, name)),
  edit: editPoll,
  empty:
    "There are no polls yet. A poll watches a page, a feed, an API or a file, and reports what is new.",
});

function editPoll(poll) {
  openForm({
    title: poll ? `Edit ${poll.name}` : "Add a poll",
    fields: [
      { name: "name", label: "Name", required: true, value: poll?.name },
      ...sourceFields(poll?.source),
      {
        name: "every",
        label: "Every",
        value: poll?.every ?? (poll ? undefined : "5m"),
        placeholder: "5m",
      },
      ...payloadFields(
        poll?.payload ?? { kind: "systemEvent", text: "New: {item.title} {item.url}" },
        "The text may contain {item.title}, {item.url}, {item.text}, {diff}, {count} and {name}.",
      ),
      {
        name: "fireOnFirst",
        label: "Also report the items that the first check finds",
        kind: "flag",
        value: poll?.fireOnFirst,
      },
    ],
    save: poll ? "Save" : "Add",
    async submit(values) {
      const definition = pollOf(values, poll);
      if (!poll) {
        const { id } = await post("/polls", withoutUndefined(definition));
        location.hash = href("polls", id);
        return;
      }
      const patch = patchOf(poll, definition);
      if (Object.keys(patch).length > 0) await change("PATCH", pathOf(poll.id), patch);
      dispatchEvent(new Event("portico:changed"));
    },
  });
}

function sourceFields(source = { kind: "feed" }) {
  const isOf =
    (...kinds) =>
    ({ kind }) =>
      kinds.includes(kind);
  return [
    {
      name: "kind",
      label: "Watches",
      kind: "choice",
      value: source.kind,
      options: [
        { value: "feed", label: "a feed (RSS, Atom, JSON)" },
        { value: "json", label: "a JSON list" },
        { value: "html", label: "part of a page" },
        { value: "http", label: "the text at a URL" },
        { value: "file", label: "a file or directory" },
      ],
    },
    {
      name: "url",
      label: "Address",
      value: source.url,
      when: ({ kind }) => kind !== "file",
    },
    {
      name: "path",
      label: "Path",
      value: source.path,
      hint: "A path in the workspace or in one of the directories of polls.roots.",
      when: isOf("file"),
    },
    {
      name: "items",
      label: "Where the list is in the JSON",
      value: source.items,
      placeholder: "data.items",
      when: isOf("json"),
    },
    {
      name: "key",
      label: "Field that identifies an item",
      value: source.key,
      placeholder: "id",
      when: isOf("json"),
    },
    {
      name: "selector",
      label: "CSS selector",
      value: source.selector,
      hint: "Leave empty to watch the complete page.",
      when: isOf("html"),
    },
    {
      name: "browser",
      label: "Render in the browser",
      kind: "flag",
      value: source.browser,
      when: isOf("html", "http"),
    },
  ];
}

/** Builds the poll from the form. Members of the source that the form does not show, such as headers, stay unchanged. */
function pollOf(values, poll) {
  const { name, kind, url, path, items, key, selector, browser, every, fireOnFirst } = values;
  const base = poll?.source.kind === kind ? poll.source : {};
  return {
    name,
    every,
    source: withoutUndefined({
      ...base,
      kind,
      url,
      path,
      items,
      key,
      selector,
      browser: browser || undefined,
    }),
    payload: payloadOf(values, poll?.payload),
    fireOnFirst: fireOnFirst || undefined,
  };
}

/** Shows what a check would find and send now. It stores and sends nothing. */
async function testPoll(id, name) {
  const outcome = await post(`${pathOf(id)}/test`);
  const dialog = openDialog({
    title: `What a check of ${name} would find now`,
    content: [
      outcomeOf(outcome),
      h(
        "div",
        { class: "row end" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
      ),
    ],
  });
  return false;
}

function outcomeOf({
  status,
  count: newCount,
  listed,
  httpStatus,
  sample = [],
  diff,
  text,
  wouldSend,
}) {
  return [
    facts([
      ["status", badge(status)],
      ["new items", count(newCount)],
      ["items in the source", listed === undefined ? null : count(listed)],
      ["HTTP status", httpStatus],
    ]),
    h("h3", {}, "What the poll would send"),
    wouldSend === null
      ? problem("The poll would send nothing, because the check found no item.")
      : h("pre", { tabindex: "0" }, textOf(wouldSend)),
    diff ? [h("h3", {}, "What changed"), h("pre", { tabindex: "0" }, diff)] : null,
    sample.length > 0 ? [h("h3", {}, "Items"), h("pre", { tabindex: "0" }, textOf(sample))] : null,
    sample.length === 0 && text ? h("pre", { tabindex: "0" }, text) : null,
  ];
}

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
