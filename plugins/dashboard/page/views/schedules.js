/** The parts that the pages of cron jobs and polls share: the list, one entry with its runs, and the actions on it. */
import { ApiError, attempt, del, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  shortened,
  confirmDialog,
  count,
  dataTable,
  duration,
  emptyText,
  entryLink,
  exactTime,
  facts,
  h,
  href,
  problem,
  section,
  showError,
} from "../dom.js";
import { lengthOf, listEnd } from "../lists.js";
import { markdown, plainText } from "../markdown.js";
import { offerUndo } from "../undo-bar.js";

const FIRST_RUNS = 50;

/**
 * Creates a page of schedules. Of `kind`, `list(value)` returns the entries, `stateOf(state)` returns `{ nextAt, lastAt }`,
 * `summary(entry)` returns a line of text, `details(entry)` returns rows of facts, and `edit(entry)` opens the form of an
 * entry, or of a new one without `entry`.
 */
export function schedulePage(kind) {
  const { id, title, root } = kind;
  const pathOf = (name) => `${root}/${encodeURIComponent(name)}`;
  return {
    id,
    title,
    load: () => attempt(get(root)),
    render: (all, openId) =>
      section(
        title,
        all,
        (value) =>
          dataTable({
            key: id,
            columns: columnsOf(kind, pathOf, openId),
            rows: kind.list(value),
            empty: kind.empty,
          }),
        openButton(`Add a ${kind.noun}`, () => kind.edit(), { class: "primary" }),
      ),
    detail: {
      async load(name) {
        const [entry, runs] = await Promise.all([
          get(pathOf(name)),
          get(`${pathOf(name)}/runs?limit=${lengthOf(`runs-${name}`, FIRST_RUNS)}`),
        ]);
        return { entry, runs: runs.runs };
      },
      name: ({ entry }) => entry.name,
      render: (data) => renderDetail(kind, pathOf, data),
    },
  };
}

/** Creates a button that opens something. An error is shown above the page. */
function openButton(label, open, attributes = {}) {
  const onclick = async () => {
    try {
      await open();
    } catch (error) {
      showError(error);
    }
  };
  return h("button", { type: "button", "data-key": label, ...attributes, onclick }, label);
}

function columnsOf(kind, pathOf, openId) {
  const columns = [
    {
      title: "name",
      value: ({ name }) => name,
      cell: (entry) => [
        entryLink(kind.id, entry.id, entry.name, { isCurrent: entry.id === openId }),
        h("div", { class: "muted small" }, shortened(kind.summary(entry) ?? "", 120)),
      ],
    },
    {
      title: "state",
      value: ({ status }) => status,
      cell: ({ status, state }) => [badge(status), problem(state.disabledReason)],
    },
    {
      title: "next",
      value: ({ state }) => kind.stateOf(state).nextAt,
      cell: ({ state }) => ago(kind.stateOf(state).nextAt),
    },
  ];
  if (openId !== undefined) return columns;
  return [
    columns[0],
    { title: "when", cell: whenText },
    columns[1],
    columns[2],
    {
      title: "last",
      value: ({ state }) => kind.stateOf(state).lastAt,
      cell: ({ state }) => lastRun(kind, state),
    },
    { title: "", kind: "actions", cell: (entry) => runButtons(kind, pathOf, entry) },
  ];
}

function lastRun(kind, { lastStatus, lastError, ...state }) {
  const status = lastStatus ? [" ", badge(lastStatus)] : null;
  return [ago(kind.stateOf(state).lastAt), status, problem(lastError)];
}

export function whenText({ every, schedule }) {
  if (every !== undefined) return `every ${every}`;
  if (typeof schedule === "string") return schedule;
  if (schedule.kind === "cron") return `${schedule.expr}${schedule.tz ? ` ${schedule.tz}` : ""}`;
  if (schedule.kind === "every") return `every ${duration(schedule.everyMs)}`;
  return `at ${exactTime(schedule.at)}`;
}

function runButtons(kind, pathOf, entry) {
  const { id, name, status } = entry;
  const run = async () => {
    await post(`${pathOf(id)}/run`);
    return `${name}: ${kind.runLabel.toLowerCase()} done`;
  };
  const isOn = status === "enabled";
  const button = (label, key, work) =>
    action(label, `${key}-${id}`, work, { "aria-label": `${label}: ${name}` });
  return h(
    "div",
    { class: "row" },
    button(kind.runLabel, "run", run),
    // The configuration decides whether its own entries are enabled. An entry that disabled itself can be enabled here.
    (!isConfigured(entry) || entry.state.disabledReason) &&
      button(isOn ? "Disable" : "Enable", "toggle", () => switchEntry(pathOf(id), name, !isOn)),
  );
}

const isConfigured = ({ source, origin }) => (origin ?? source) === "config";

/** Returns the members of an entry that readers can change, without those that its runs change. */
const definitionOf = ({ state: _, nextDates: _dates, updatedAt: _at, ...definition }) =>
  JSON.stringify(definition);

/** Enables or disables an entry. These routes accept no version, so the undo compares the definition itself. */
async function switchEntry(path, name, isOn) {
  const [verb, opposite] = isOn ? ["enable", "disable"] : ["disable", "enable"];
  const switched = await post(`${path}/${verb}`);
  const undo = async () => {
    if (definitionOf(await get(path)) !== definitionOf(switched))
      throw new ApiError(412, "precondition_failed", "");
    await post(`${path}/${opposite}`);
  };
  offerUndo({ undo }, h("span", {}, `${name} is ${verb}d.`));
  return false;
}

function renderDetail(kind, pathOf, { entry, runs }) {
  const { id, name, state, nextDates = [] } = entry;
  const isEditable = !isConfigured(entry);
  return [
    facts([
      ["state", [badge(entry.status), problem(state.disabledReason)]],
      ["when", whenText(entry)],
      ["last", lastRun(kind, state)],
      ...kind.details(entry),
      ["created by", entry.principal],
      ["delivery", deliveryText(entry.payload?.delivery)],
    ]),
    h(
      "div",
      { class: "row" },
      runButtons(kind, pathOf, entry),
      isEditable ? openButton("Edit", () => kind.edit(entry)) : null,
      isEditable
        ? action("Delete", `delete-${id}`, () => remove(kind, pathOf(id), name), {
            class: "danger",
          })
        : null,
      kind.buttons?.(entry),
    ),
    isEditable
      ? null
      : h(
          "p",
          { class: "hint" },
          `This ${kind.noun} is defined in the `,
          h("a", { href: href("configuration", kind.id) }, "configuration"),
          ". Change it there.",
        ),
    h("h3", {}, "Task"),
    h("pre", {}, kind.task(entry)),
    nextDates.length > 0
      ? [h("h3", {}, "Next run times"), dateList(nextDates, entry.schedule?.tz)]
      : null,
    h("h3", {}, "Runs"),
    runList(runs),
    listEnd(`runs-${id}`, FIRST_RUNS, runs.length),
  ];
}

const deliveryText = (delivery) => (typeof delivery === "object" ? delivery.url : delivery);

/** Lists dates, in the time zone of the schedule if it has one. */
export function dateList(dates, timeZone) {
  const format = { weekday: "short", day: "numeric", month: "short", year: "numeric" };
  const time = { hour: "numeric", minute: "2-digit", timeZone };
  const text = (date) => new Date(date).toLocaleString(undefined, { ...format, ...time });
  return [
    timeZone ? h("p", { class: "hint" }, `The times are in the time zone ${timeZone}.`) : null,
    h(
      "ul",
      { class: "plain" },
      dates.map((date) => h("li", {}, `${text(date)}, `, ago(date))),
    ),
  ];
}

async function remove(kind, path, name) {
  const isConfirmed = await confirmDialog({
    title: `Delete the ${kind.noun} ${name}?`,
    content: `This also deletes the run history of the ${kind.noun}.`,
    confirm: "Delete",
  });
  if (!isConfirmed) return false;
  await del(path);
  location.hash = href(kind.id);
  return `${name} is deleted`;
}

function runList(runs) {
  if (runs.length === 0) return emptyText("There are no runs yet.");
  return h("ol", { class: "timeline" }, runs.map(runItem));
}

/** Shows a run. Its result, Markdown from a model, is one line of plain text until the reader opens it. */
function runItem({ id, startedAt, status, durationMs, trigger, turnId, ...run }) {
  const { error, reason, result, count: newCount } = run;
  const text = reason ?? (newCount === undefined ? null : `${count(newCount)} new`);
  const amounts = [trigger, durationMs === null ? null : duration(durationMs), text];
  return h(
    "li",
    {},
    badge(status),
    " ",
    ago(startedAt),
    h("span", { class: "muted small" }, ` ${amounts.filter(Boolean).join(", ")} `),
    turnId ? h("a", { class: "small", href: href("turns", turnId) }, "the turn") : null,
    problem(error),
    result
      ? h(
          "details",
          { "data-key": `run-${id}` },
          h("summary", { class: "line" }, plainText(result)),
          h("div", { class: "message" }, markdown(result)),
        )
      : null,
  );
}

/** Returns the fields for the payload of a job or a poll, which `payloadOf` reads. */
export const payloadFields = (payload = { kind: "agentTurn" }, hint) => [
  {
    name: "does",
    label: "Action",
    kind: "choice",
    value: payload.kind,
    options: [
      { value: "agentTurn", label: "start an agent turn" },
      { value: "systemEvent", label: "queue an event for the heartbeat" },
      { value: "hook", label: "emit an event for hooks" },
    ],
  },
  {
    name: "message",
    label: "Message",
    kind: "long",
    rows: 4,
    hint,
    value: payload.message ?? payload.text,
    when: ({ does }) => does !== "hook",
  },
  {
    name: "event",
    label: "Event",
    value: payload.event,
    placeholder: "report:daily",
    when: ({ does }) => does === "hook",
  },
  {
    name: "session",
    label: "Session",
    value: payload.session,
    when: ({ does }) => does === "agentTurn",
  },
  {
    name: "model",
    label: "Model",
    value: payload.model,
    hint: "Leave empty for agents.defaults.model.",
    when: ({ does }) => does === "agentTurn",
  },
  {
    name: "announce",
    label: "Post the result to the main session",
    kind: "flag",
    value: payload.delivery === "announce",
    when: ({ does }) => does === "agentTurn" && typeof payload.delivery !== "object",
  },
];

/** Builds the payload from the form. Members that the form does not show, such as a delivery to a URL, stay unchanged. */
export function payloadOf({ does, message, event, session, model, announce }, before = {}) {
  const base = before.kind === does ? before : {};
  if (does === "hook") return withoutUndefined({ ...base, kind: "hook", event });
  if (does === "systemEvent")
    return withoutUndefined({ ...base, kind: "systemEvent", text: message });
  const delivery = typeof base.delivery === "object" ? base.delivery : announce && "announce";
  return withoutUndefined({
    ...base,
    kind: "agentTurn",
    message,
    session,
    model,
    delivery: delivery || undefined,
  });
}

export const withoutUndefined = (value) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));

export function taskText({ payload = {} }) {
  return payload.message ?? payload.text ?? payload.event ?? JSON.stringify(payload, null, 2);
}

/** Returns the changed members as a merge patch, in which null removes a member. */
export function patchOf(before, after) {
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}
