/** What the agent has to do: turns, and the events that wait for the next heartbeat. */
import { attempt, get, post } from "../api.js";
import { action, ago, badge, h, problem, section, table } from "../dom.js";
import { lengthOf, more } from "../lists.js";

export const turns = {
  id: "turns",
  title: "Turns",
  async load() {
    const [waiting, list, beat] = await Promise.all([
      attempt(get("/turns?state=waiting")),
      attempt(get(`/turns?limit=${lengthOf("turns", 100)}`)),
      attempt(get("/heartbeat")),
    ]);
    return { waiting, list, beat };
  },
  render({ waiting, list, beat }) {
    return h(
      "div",
      {},
      section("Waiting for your yes or no", waiting, ({ turns: rows }) =>
        table(
          waitingColumns,
          rows.flatMap((turn) => turn.waitingCalls.map((call) => ({ turn, call }))),
          "No tool call waits for you. The setting agents.defaults.tools.confirm says which calls do.",
        ),
      ),
      section("Turns", list, ({ turns: rows }) => [
        table(columns, rows, 'There are no turns yet. `portico agent "hello"` starts one.'),
        more("turns", 100, rows.length),
      ]),
      section("Queued events", beat, ({ nextAt, queued, events }) => [
        h(
          "p",
          {},
          `${queued} for the next heartbeat`,
          nextAt ? [", ", ago(nextAt)] : " (it is off)",
          ".",
        ),
        table(
          [
            ["event", ({ eventId }) => eventId],
            ["text", ({ text }) => String(text ?? "").slice(0, 300)],
            ["came", ({ createdAt }) => ago(createdAt)],
          ],
          events,
          "No event waits.",
        ),
      ]),
    );
  },
};

function decide(answer, { turnId }, { callId }) {
  return post(`/turns/${encodeURIComponent(turnId)}/${answer}`, { call: callId });
}

const waitingColumns = [
  ["session", ({ turn }) => [turn.sessionId, h("div", { class: "muted small" }, turn.turnId)]],
  ["for", ({ turn }) => turn.principal, "word"],
  ["tool", ({ call }) => call.tool, "word"],
  ["arguments", ({ call }) => h("pre", {}, call.arguments)],
  ["until", ({ call }) => ago(call.until)],
  [
    "",
    ({ turn, call }) => [
      action(`Allow ${call.tool}`, `confirm-${call.callId}`, () => decide("confirm", turn, call)),
      " ",
      action(`Refuse ${call.tool}`, `deny-${call.callId}`, () => decide("deny", turn, call)),
    ],
  ],
];

const columns = [
  [
    "session",
    ({ sessionId, turnId }) => [
      h(
        "a",
        { href: `#/sessions/${encodeURIComponent(sessionId)}`, "data-key": `turn-${turnId}` },
        sessionId,
      ),
      h("div", { class: "muted small" }, turnId),
    ],
  ],
  ["from", ({ source }) => source, "word"],
  [
    "state",
    ({ state, error }) => [badge(state), state === "done" ? null : problem(error?.message)],
  ],
  ["attempts", ({ attempts }) => String(attempts), "number"],
  ["made", ({ createdAt }) => ago(createdAt)],
  [
    "",
    ({ turnId, state }) => {
      const at = `/turns/${encodeURIComponent(turnId)}`;
      if (state === "dead")
        return action("Try again", `replay-${turnId}`, () => post(`${at}/replay`));
      if (state === "done" || state === "cancelled") return "";
      return action("Stop", `cancel-${turnId}`, () => post(`${at}/cancel`));
    },
  ],
];
