/** The page of deliveries: those received by webhook, and those sent to URLs, with the open one next to the lists. */
import { attempt, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  dataTable,
  entryLink,
  exactTime,
  facts,
  h,
  href,
  idText,
  json,
  problem,
  section,
} from "../dom.js";
import { lengthOf, listEnd } from "../lists.js";

const FIRST_IN = 100;
const FIRST_OUT = 50;

/** Returns true for an outgoing delivery: the prefix of the id gives the direction. */
const isOutgoing = (id) => id.startsWith("dlv_");
const pathOf = (id) =>
  `${isOutgoing(id) ? "/deliveries" : "/webhooks/deliveries"}/${encodeURIComponent(id)}`;

export const deliveries = {
  id: "deliveries",
  title: "Deliveries",
  async load() {
    const [incoming, outgoing] = await Promise.all([
      attempt(get(`/webhooks/deliveries?limit=${lengthOf("incoming", FIRST_IN)}`)),
      attempt(get(`/deliveries?limit=${lengthOf("outgoing", FIRST_OUT)}`)),
    ]);
    return { incoming, outgoing };
  },
  render: ({ incoming, outgoing }, id) => [
    section("Received by webhook", incoming, ({ deliveries: rows }) => [
      dataTable({
        key: "incoming",
        columns: incomingColumns(id),
        rows,
        empty: "No webhook request has been received yet.",
      }),
      listEnd("incoming", FIRST_IN, rows.length),
    ]),
    section("Sent to URLs", outgoing, ({ deliveries: rows }) => [
      dataTable({
        key: "outgoing",
        columns: outgoingColumns(id),
        rows,
        empty:
          "There are no deliveries yet. To send results, add `delivery: {url}` to a webhook, a job or a turn.",
      }),
      listEnd("outgoing", FIRST_OUT, rows.length),
    ]),
  ],
  detail: {
    load: (id) => get(pathOf(id)),
    name: ({ source, url }) => source ?? url,
    render: (delivery, id) =>
      isOutgoing(id) ? outgoingDetail(delivery) : incomingDetail(delivery),
  },
};

const secondLine = (...content) => h("div", { class: "muted small" }, content);
const errorText = (error) => (typeof error === "object" ? error?.message : error);

/** Shows the id of a turn as a link to its page, and that of an event, which has no page, as text. */
const itemLink = (id) =>
  id.startsWith("turn_") ? h("a", { href: href("turns", id) }, idText(id)) : idText(id);

/** Returns the columns; only the first two if a delivery is open next to the list. */
function incomingColumns(openId) {
  const columns = [
    {
      title: "source",
      value: ({ source }) => source,
      cell: ({ id, source, at }) => [
        entryLink("deliveries", id, source, { isCurrent: id === openId }),
        secondLine(ago(at)),
      ],
    },
    {
      title: "outcome",
      value: ({ outcome }) => outcome,
      cell: ({ outcome, status, error }) => [
        badge(outcome),
        status ? ` ${status}` : "",
        problem(errorText(error)),
      ],
    },
  ];
  if (openId !== undefined) return columns;
  return [
    ...columns,
    {
      title: "action",
      kind: "text",
      value: ({ action: name }) => name,
      cell: ({ action: name, itemId, replayOf }) => [
        name ?? "–",
        itemId ? secondLine(itemLink(itemId)) : null,
        replayOf ? secondLine("replay of ", idText(replayOf)) : null,
      ],
    },
    { title: "", kind: "actions", cell: replayIncoming },
  ];
}

function outgoingColumns(openId) {
  const columns = [
    {
      title: "to",
      value: ({ url }) => url,
      cell: ({ id, url, createdAt }) => [
        entryLink("deliveries", id, url, { isCurrent: id === openId }),
        secondLine(ago(createdAt)),
      ],
    },
    {
      title: "state",
      value: ({ state }) => state,
      cell: ({ state, status, error }) => [
        badge(state),
        status ? ` ${status}` : "",
        problem(errorText(error)),
      ],
    },
  ];
  if (openId !== undefined) return columns;
  return [
    ...columns,
    {
      title: "attempts",
      kind: "number",
      value: ({ attempts }) => attempts,
      cell: ({ attempts, maxAttempts }) =>
        maxAttempts === undefined ? String(attempts) : `${attempts} of ${maxAttempts}`,
    },
    { title: "", kind: "actions", cell: replayOutgoing },
  ];
}

/** Creates the button for a replay. A request without valid credentials cannot be replayed. */
function replayIncoming({ id, outcome }) {
  if (outcome === "unauthorized") return null;
  return replayButton(id, "Started again as");
}

function replayOutgoing({ id, state }) {
  if (state !== "done" && state !== "dead") return null;
  return replayButton(id, "Sending again as");
}

function replayButton(id, outcome) {
  const replay = async () => `${outcome} ${(await post(`${pathOf(id)}/replay`)).deliveryId}`;
  return action("Replay", `replay-${id}`, replay, { "aria-label": `Replay ${id}` });
}

function incomingDetail(delivery) {
  const {
    id,
    outcome,
    status,
    at,
    action: actionName,
    itemId,
    replayOf,
    error,
    payload,
  } = delivery;
  return [
    facts([
      ["id", id],
      ["outcome", [badge(outcome), status ? ` ${status}` : ""]],
      ["received", exactTime(at)],
      ["action", actionName],
      ["entry", itemId && itemLink(itemId)],
      ["replay of", replayOf && entryLink("deliveries", replayOf, idText(replayOf))],
    ]),
    problem(errorText(error)),
    h("div", { class: "row" }, replayIncoming(delivery)),
    h("h3", {}, "Payload"),
    payloadOf(payload),
  ];
}

function payloadOf(payload) {
  if (payload === null || payload === undefined)
    return h("p", { class: "empty" }, "The payload was not stored.");
  try {
    return json(JSON.parse(payload));
  } catch {
    return h("pre", {}, payload);
  }
}

function outgoingDetail(delivery) {
  const { id, state, status, type, principal, turnId, attempts, maxAttempts } = delivery;
  const { createdAt, finishedAt, nextAttemptAt, signed, headers, message, error } = delivery;
  return [
    facts([
      ["id", id],
      ["state", [badge(state), status ? ` ${status}` : ""]],
      ["type", type],
      ["attempts", maxAttempts === undefined ? attempts : `${attempts} of ${maxAttempts}`],
      ["created", exactTime(createdAt)],
      ["next attempt", nextAttemptAt && ago(nextAttemptAt)],
      ["finished", finishedAt && exactTime(finishedAt)],
      ["principal", principal],
      ["turn", turnId && itemLink(turnId)],
      ["signed", signed === undefined ? undefined : yesOrNo(signed)],
    ]),
    problem(errorText(error)),
    h("div", { class: "row" }, replayOutgoing(delivery)),
    headers ? [h("h3", {}, "Headers"), json(headers)] : null,
    h("h3", {}, "Message"),
    json(message),
  ];
}

const yesOrNo = (value) => (value ? "yes" : "no");
