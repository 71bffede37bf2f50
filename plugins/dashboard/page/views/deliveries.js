/** What came in by webhooks, and doing it again. */
import { attempt, get, post } from "../api.js";
import { action, ago, badge, h, json, problem, section, table } from "../dom.js";

export const deliveries = {
  id: "webhooks",
  title: "Webhooks",
  async load(id) {
    const [setup, list, one] = await Promise.all([
      attempt(get("/webhooks")),
      attempt(get("/webhooks/deliveries?limit=100")),
      id === undefined ? undefined : attempt(get(`/webhooks/deliveries/${encodeURIComponent(id)}`)),
    ]);
    return { setup, list, one };
  },
  render({ setup, list, one }, id) {
    return h(
      "div",
      {},
      section("Endpoints", setup, endpoints),
      section("Deliveries", list, ({ deliveries: all }) => [deliveryTable(all)]),
      one ? section(id, one, (delivery) => [json(delivery)]) : null,
    );
  },
};

function endpoints({ enabled, warning, endpoints: fixed, mappings, refused }) {
  if (!enabled) return [h("p", { class: "empty" }, "Webhooks are off: set webhooks.enabled and webhooks.token.")];
  return [
    problem(warning),
    h(
      "ul",
      { class: "plain" },
      [...fixed, ...mappings.map(({ path, credential }) => `POST ${path} (${credential})`)].map((each) =>
        h("li", {}, each),
      ),
    ),
    Object.entries(refused ?? {}).map(([name, why]) =>
      problem(`${name}: ${typeof why === "string" ? why : JSON.stringify(why)}`),
    ),
  ];
}

function deliveryTable(all) {
  return table(
    [
      ["when", ({ at }) => ago(at)],
      [
        "delivery",
        ({ id, source }) => [
          h("a", { href: `#/webhooks/${encodeURIComponent(id)}`, "data-key": `delivery-${id}` }, source),
          h("div", { class: "muted small" }, id),
        ],
      ],
      [
        "outcome",
        ({ outcome, status, error }) => [
          badge(outcome),
          status ? ` ${status}` : "",
          problem(typeof error === "object" ? error?.message : error),
        ],
      ],
      [
        "became",
        ({ action: what, itemId, replayOf }) => [
          what ?? "",
          h("div", { class: "muted small" }, itemId ?? ""),
          replayOf ? h("div", { class: "muted small" }, `again ${replayOf}`) : null,
        ],
      ],
      [
        "",
        ({ id, outcome }) =>
          outcome === "unauthorized"
            ? null
            : action(
                "Replay",
                `replay-${id}`,
                async () =>
                  `Started again as ${(await post(`/webhooks/deliveries/${encodeURIComponent(id)}/replay`)).deliveryId}`,
                { "aria-label": `Replay ${id}` },
              ),
      ],
    ],
    all,
    "Nothing has come in yet.",
  );
}
