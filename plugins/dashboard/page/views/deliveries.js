/** What came in by webhooks, what goes out to URLs, and doing it again. */
import { attempt, get, post } from "../api.js";
import { action, ago, badge, h, json, opened, problem, section, table } from "../dom.js";
import { lengthOf, more } from "../lists.js";

export const deliveries = {
  id: "webhooks",
  title: "Webhooks",
  async load(id) {
    const out = id?.startsWith("dlv_");
    const [setup, list, outgoing, one] = await Promise.all([
      attempt(get("/webhooks")),
      attempt(get(`/webhooks/deliveries?limit=${lengthOf("deliveries", 100)}`)),
      attempt(get(`/deliveries?limit=${lengthOf("outgoing", 50)}`)),
      id === undefined
        ? undefined
        : attempt(get(`${out ? "/deliveries" : "/webhooks/deliveries"}/${encodeURIComponent(id)}`)),
    ]);
    return { setup, list, outgoing, one };
  },
  render({ setup, list, outgoing, one }, id) {
    return h(
      "div",
      {},
      section("Endpoints", setup, endpoints),
      section("Deliveries", list, ({ deliveries: all }) => [
        deliveryTable(all),
        more("deliveries", 100, all.length),
      ]),
      section("Results that go out", outgoing, ({ deliveries: all }) => [
        outgoingTable(all),
        more("outgoing", 50, all.length),
      ]),
      one ? opened(id, one, (delivery) => [json(delivery)]) : null,
    );
  },
};

function endpoints({ enabled, warning, endpoints: fixed, mappings, refused }) {
  if (!enabled)
    return [
      h(
        "p",
        { class: "empty" },
        "Webhooks are off: set webhooks.token (webhooks.enabled must not be false).",
      ),
    ];
  return [
    problem(warning),
    h(
      "ul",
      { class: "plain" },
      fixed.map((each) => h("li", {}, each)),
      mappings.map(({ name, path, credential }) =>
        h(
          "li",
          {},
          `POST ${path} (${credential}) `,
          h("a", { href: `#/mapping/${encodeURIComponent(name)}` }, `Edit ${name}`),
        ),
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
          h(
            "a",
            { href: `#/webhooks/${encodeURIComponent(id)}`, "data-key": `delivery-${id}` },
            source,
          ),
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

function outgoingTable(all) {
  return table(
    [
      ["when", ({ createdAt }) => ago(createdAt)],
      [
        "to",
        ({ id, url }) => [
          h(
            "a",
            { href: `#/webhooks/${encodeURIComponent(id)}`, "data-key": `outgoing-${id}` },
            url,
          ),
          h("div", { class: "muted small" }, id),
        ],
      ],
      [
        "state",
        ({ state, attempts, maxAttempts, status, error }) => [
          badge(state),
          ` ${status ?? `${attempts} of ${maxAttempts}`}`,
          problem(error?.message),
        ],
      ],
      [
        "",
        ({ id, state }) =>
          state !== "done" && state !== "dead"
            ? null
            : action(
                "Replay",
                `replay-${id}`,
                async () =>
                  `Goes out again as ${(await post(`/deliveries/${encodeURIComponent(id)}/replay`)).deliveryId}`,
                { "aria-label": `Replay ${id}` },
              ),
      ],
    ],
    all,
    "No result goes out: give a webhook, a job or a turn `delivery: {url}`.",
  );
}
