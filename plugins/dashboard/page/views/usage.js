/** What models were asked and what that cost, by day and by model. */
import { attempt, get } from "../api.js";
import { bars } from "../chart.js";
import { h, section, table } from "../dom.js";

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
