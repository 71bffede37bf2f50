/** The endpoints that take webhooks. */
import { attempt, get } from "../api.js";
import { h, problem, section } from "../dom.js";

export const webhooks = {
  id: "webhooks",
  title: "Webhooks",
  load: () => attempt(get("/webhooks")),
  render: (setup) => section("Endpoints", setup, endpoints),
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
