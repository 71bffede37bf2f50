/** The page of turns: tool calls that wait for the owner, the list of turns, and the steps of one turn. */
import { attempt, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  shortened,
  count,
  dataTable,
  dollars,
  duration,
  emptyText,
  entryLink,
  facts,
  h,
  href,
  idText,
  problem,
  section,
  table,
  numberColumn,
} from "../dom.js";
import { openForm } from "../forms.js";
import { lengthOf, listEnd } from "../lists.js";
import { markdown } from "../markdown.js";

const FIRST = 100;
const pathOf = (id) => `/turns/${encodeURIComponent(id)}`;

export const turns = {
  id: "turns",
  title: "Turns",
  async load() {
    const [waiting, list, beat] = await Promise.all([
      attempt(get("/turns?state=waiting")),
      attempt(get(`/turns?limit=${lengthOf("turns", FIRST)}`)),
      attempt(get("/heartbeat")),
    ]);
    return { waiting, list, beat };
  },
  render: ({ waiting, list, beat }, openId) => [
    section("Waiting for your approval", waiting, ({ turns: rows }) => waitingCalls(rows)),
    section(
      "Turns",
      list,
      ({ turns: rows }) => [
        dataTable({
          key: "turns",
          columns: columnsOf(openId),
          rows,
          empty: "There are no turns yet.",
        }),
        listEnd("turns", FIRST, rows.length),
      ],
      h("button", { type: "button", class: "primary", onclick: startTurn }, "Start a turn"),
    ),
    section("Queued events", beat, heartbeat, action("Run the heartbeat now", "beat", beatNow)),
  ],
  detail: {
    everyMs: 1000,
    load: (id) => get(pathOf(id)),
    name: ({ sessionId }) => sessionId,
    render: renderDetail,
  },
};

function waitingCalls(rows) {
  const calls = rows.flatMap((turn) => turn.waitingCalls.map((call) => ({ turn, call })));
  if (calls.length === 0)
    return emptyText(
      "No tool call is waiting for you. The setting agents.defaults.tools.confirm determines which calls need your approval.",
    );
  return h("ul", { class: "timeline" }, calls.map(waitingCall));
}

/** Shows a call with its full arguments, since the owner must see what they allow. */
function waitingCall({ turn, call }) {
  const decide = (verb, outcome) => async () => {
    await post(`${pathOf(turn.turnId)}/${verb}`, { call: call.callId });
    return `${call.tool}: ${outcome}`;
  };
  return h(
    "li",
    {},
    h("strong", {}, call.tool),
    ` in session ${turn.sessionId} for ${turn.principal}, expires `,
    ago(call.until),
    h("pre", {}, call.arguments),
    h(
      "div",
      { class: "row" },
      action(`Allow ${call.tool}`, `confirm-${call.callId}`, decide("confirm", "allowed"), {
        class: "primary",
      }),
      action(`Refuse ${call.tool}`, `deny-${call.callId}`, decide("deny", "refused")),
    ),
  );
}

/** Shows the state. While another attempt runs, the error is that of the attempt before, so it is left out. */
function stateCell({ state, attempts, error }) {
  if (state === "running" && attempts > 1)
    return [badge(state), h("span", { class: "muted small" }, ` attempt ${attempts}`)];
  return [badge(state), state === "done" ? null : problem(error?.message)];
}

function columnsOf(openId) {
  const columns = [
    {
      title: "session",
      value: ({ sessionId }) => sessionId,
      cell: ({ sessionId, turnId, createdAt }) => [
        entryLink("turns", turnId, idText(sessionId), { isCurrent: turnId === openId }),
        h("div", { class: "muted small" }, ago(createdAt)),
      ],
    },
    {
      title: "state",
      value: ({ state }) => state,
      cell: stateCell,
    },
  ];
  if (openId !== undefined) return columns;
  return [
    ...columns,
    { title: "source", kind: "word", value: ({ source }) => source },
    {
      title: "principal",
      value: ({ principal }) => principal,
      cell: ({ principal }) => idText(principal),
    },
    numberColumn("steps", ({ steps }) => steps),
    numberColumn("tokens", ({ usage }) => usage?.total_tokens),
    { title: "took", kind: "number", value: tookMs, cell: (turn) => duration(tookMs(turn)) },
  ];
}

/** Returns the time since its creation, so that it includes waiting. */
function tookMs({ createdAt, finishedAt }) {
  return finishedAt === undefined ? undefined : Date.parse(finishedAt) - Date.parse(createdAt);
}

function renderDetail(turn) {
  const { turnId, sessionId, failedAttempts, waitingCalls: waiting = [] } = turn;
  const hasError = turn.state !== "done" && turn.state !== "running";
  return [
    problem(hasError ? turn.error?.message : undefined),
    facts(factsOf(turn)),
    buttonsOf(turn),
    waiting.length > 0 ? waitingCalls([turn]) : null,
    failedAttempts.length > 0
      ? [h("h3", {}, "Attempts that failed"), failedAttempts.map(failedAttempt)]
      : null,
    h("h3", {}, failedAttempts.length > 0 ? "Steps of the latest attempt" : "Steps"),
    stepsOf(turn),
    turn.result
      ? [h("h3", {}, "Result"), h("div", { class: "message" }, markdown(turn.result))]
      : null,
    h("p", {}, h("a", { href: href("sessions", sessionId) }, "The complete session")),
    h("p", { class: "muted small" }, turnId),
  ];
}

function factsOf(turn) {
  const { usage, cost, retryAt, attempts } = turn;
  return [
    ["state", badge(turn.state)],
    ["source", turn.source],
    ["principal", turn.principal],
    ["model", turn.model],
    ["created", ago(turn.createdAt)],
    ["took", tookMs(turn) === undefined ? null : duration(tookMs(turn))],
    ["attempts", String(attempts)],
    ["next attempt", retryAt && ago(retryAt)],
    ["tokens", usage && `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out`],
    ["cost", cost === undefined ? null : dollars(cost)],
  ];
}

/** Shows an earlier attempt, collapsed, since the latest one counts. */
function failedAttempt({ attempt: number, error, trace, omittedSteps }) {
  return h(
    "details",
    { "data-key": `attempt-${number}` },
    h("summary", {}, badge("failed"), ` attempt ${number}: ${error.code}`),
    problem(error.message),
    timelineOf(trace, omittedSteps, `attempt-${number}`),
  );
}

function stepsOf({ trace, omittedSteps = 0, state }) {
  if (trace.length > 0) return timelineOf(trace, omittedSteps, "latest");
  if (state === "running") return emptyText("The turn is running. Its steps appear here.");
  return emptyText("The turn has taken no steps yet.");
}

function timelineOf(trace, omittedSteps, key) {
  return [
    omittedSteps > 0
      ? emptyText(`Earlier steps that were not stored: ${count(omittedSteps)}`)
      : null,
    h(
      "ol",
      { class: "timeline" },
      trace.map((step, index) => stepOf(step, omittedSteps + index + 1, key)),
    ),
  ];
}

function stepOf(step, number, key) {
  const { model, requestId, isRunning, usage, cost, error, calls, omittedCalls = 0 } = step;
  const amounts = [
    timeOf(step),
    usage ? `${count(usage.prompt_tokens)} + ${count(usage.completion_tokens)} tokens` : null,
    cost === undefined ? null : dollars(cost),
  ];
  return h(
    "li",
    {},
    h("strong", {}, `${number}. ${model}`),
    " ",
    isRunning
      ? badge("running")
      : h("a", { class: "small", href: href("requests", requestId) }, "request"),
    h("div", { class: "muted small" }, amounts.filter(Boolean).join(", ")),
    problem(error),
    omittedCalls > 0
      ? emptyText(`Earlier calls that were not stored: ${count(omittedCalls)}`)
      : null,
    calls.map((call, index) => callOf(call, `${key}-${number}-${omittedCalls + index}`)),
  );
}

/** Formats the duration, or the time so far of something that still runs. */
const timeOf = ({ isRunning, ms }) => (isRunning ? `${duration(ms)} so far` : duration(ms));

function callOf(call, key) {
  const { tool, arguments: input, outcome, decision } = call;
  return h(
    "details",
    { "data-key": `call-${key}` },
    h(
      "summary",
      {},
      badge(callState(call)),
      ` ${tool}, ${timeOf(call)}${decision ? `, ${decision}` : ""} `,
      h("span", { class: "muted small" }, shortened(input, 80)),
    ),
    h("pre", {}, input),
    outcome === undefined ? null : h("pre", {}, outcome),
  );
}

function callState({ isRunning, ok }) {
  if (isRunning) return "running";
  return ok ? "ok" : "failed";
}

function buttonsOf({ turnId, state }) {
  if (state === "done") return null;
  if (state === "dead" || state === "cancelled")
    return h(
      "div",
      { class: "row" },
      action("Try again", `replay-${turnId}`, () => press(turnId, "replay")),
    );
  return h(
    "div",
    { class: "row" },
    action("Stop", `cancel-${turnId}`, () => press(turnId, "cancel")),
  );
}

async function press(turnId, verb) {
  await post(`${pathOf(turnId)}/${verb}`);
  return verb === "replay" ? "The turn is queued again" : "The turn was stopped";
}

function startTurn() {
  openForm({
    title: "Start an agent turn",
    fields: [
      { name: "message", label: "Task for the agent", kind: "long", rows: 5, required: true },
      { name: "session", label: "Session", value: "main" },
      { name: "model", label: "Model", hint: "Leave empty for agents.defaults.model." },
    ],
    save: "Start",
    async submit(values) {
      const { turnId } = await post("/agent", values);
      location.hash = href("turns", turnId);
    },
  });
}

function heartbeat({ nextAt, queued, events: waiting }) {
  const when = nextAt ? [", ", ago(nextAt)] : " (the heartbeat is off)";
  return [
    h("p", {}, `${count(queued)} queued for the next heartbeat`, when, "."),
    table(
      [
        ["event", ({ eventId }) => idText(eventId)],
        ["text", ({ text }) => shortened(String(text ?? ""), 300)],
        ["queued", ({ createdAt }) => ago(createdAt)],
      ],
      waiting,
      "No event is waiting.",
    ),
  ];
}

async function beatNow() {
  const { turnId } = await post("/heartbeat");
  return turnId === undefined ? "There was nothing to do" : `The turn ${turnId} has started`;
}
