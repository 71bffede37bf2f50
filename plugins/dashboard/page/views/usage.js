/** What models were asked and what that cost, by day and by model; and whose keys there are. */
import { attempt, del, get } from "../api.js";
import { bars } from "../chart.js";
import { action, badge, h, section, table } from "../dom.js";

const number = (n) => Number(n).toLocaleString();
/** What has no known price costs an unknown sum, not none. */
const cost = ({ costUsd, unpriced }) =>
  costUsd === null
    ? "unknown"
    : `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}${unpriced > 0 ? " or more" : ""}`;

const amounts = [
  ["requests", ({ requests }) => number(requests), "number"],
  ["errors", ({ errors }) => number(errors), "number"],
  ["tokens", ({ totalTokens }) => number(totalTokens), "number"],
  ["cost", cost, "number"],
];

export const usage = {
  id: "usage",
  title: "Usage",
  async load() {
    const [days, models] = await Promise.all([
      attempt(get("/usage?by=day")),
      attempt(get("/usage?by=model")),
    ]);
    return { days, models };
  },
  render({ days, models }) {
    return h(
      "div",
      {},
      section("The last 30 days", days, ({ rows }) => [
        rows.length === 0
          ? null
          : bars(
              rows.map(({ totalTokens }) => totalTokens),
              "Tokens a day",
            ),
        table([["day", ({ day }) => day], ...amounts], rows, "No model was asked yet."),
      ]),
      section("Models", models, ({ rows }) => [
        table([["model", ({ model }) => model], ...amounts], rows, "No model was asked yet."),
      ]),
    );
  },
};

/** What stands in a key's limits, in words. */
const limits = ({ requestsPerMinute, tokensPerMinute, budget, expires }) =>
  [
    requestsPerMinute === undefined ? null : `${number(requestsPerMinute)} requests a minute`,
    tokensPerMinute === undefined ? null : `${number(tokensPerMinute)} tokens a minute`,
    budget === undefined ? null : `$${budget.usd} a ${budget.per}`,
    expires === undefined ? null : `until ${expires}`,
  ]
    .filter(Boolean)
    .join(", ") || "none";

async function revoke(name) {
  if (
    !confirm(
      `Revoke the key ${name}? Whoever uses it is refused at once, and it cannot be had back.`,
    )
  )
    return "Nothing was revoked";
  await del(`/keys/${encodeURIComponent(name)}`);
  return `${name} is revoked`;
}

export const keys = {
  id: "keys",
  title: "Keys",
  load: () => attempt(get("/keys")),
  render: (list) =>
    section("Client keys", list, ({ keys: rows }) => [
      table(
        [
          ["name", ({ name }) => name],
          ["state", ({ state }) => badge(state)],
          ["models", ({ models }) => models?.join(" ") ?? "all but agents"],
          ["limits", limits],
          [
            "",
            ({ name }) =>
              action("Revoke", `revoke-${name}`, () => revoke(name), {
                "aria-label": `Revoke: ${name}`,
              }),
          ],
        ],
        rows,
        "There are no client keys. `portico keys add NAME` makes one, and shows it once.",
      ),
    ]),
};
