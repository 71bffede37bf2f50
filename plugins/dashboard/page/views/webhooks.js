/** The page of webhooks: the endpoints, the mappings that turn requests into turns, and the named keys of callers. */
import { attempt, get } from "../api.js";
import { dataTable, h, href, problem, section, showError } from "../dom.js";
import { readConfig, reviewEdits } from "../review.js";
import { addMapping, editMapping } from "./mapping-form.js";
import { addWebhookKey, editWebhookKey, turnOn } from "./webhook-key-form.js";

export const webhooks = {
  id: "webhooks",
  title: "Webhooks",
  async load() {
    const [setup, config] = await Promise.all([
      attempt(get("/webhooks")),
      attempt(get("/kernel/config")),
    ]);
    const { mappings = {}, keys = {} } = config.value?.value.webhooks ?? {};
    return { setup, mappings, keys };
  },
  render: ({ setup, mappings, keys }) => [
    section("Endpoints", setup, endpoints),
    setup.error
      ? null
      : [
          section(
            "Mappings",
            setup,
            (value) => mappingTable(value, mappings),
            button("Add a mapping", () => addMapping(), { class: "primary" }),
          ),
          section(
            "Named keys",
            { value: keys },
            keyTable,
            button("Add a key", () => addWebhookKey()),
          ),
        ],
  ],
};

function endpoints({ enabled, warning, endpoints: fixed, rateLimit }) {
  if (!enabled)
    return [
      h(
        "p",
        { class: "empty" },
        "Webhooks are off: they need a token, a key or a mapping that checks signatures.",
      ),
      button("Turn webhooks on", turnOn, { class: "primary" }),
    ];
  const { maxRequests, windowMs } = rateLimit;
  return [
    problem(warning),
    h(
      "ul",
      { class: "plain" },
      fixed.map((each) => h("li", {}, h("code", {}, each))),
    ),
    h(
      "p",
      { class: "muted small" },
      `Each token may send at most ${maxRequests} requests in ${windowMs / 1000} s.`,
    ),
    h("p", {}, h("a", { href: href("deliveries") }, "Received deliveries")),
  ];
}

function mappingTable({ mappings, refused = {}, path }, written) {
  const active = new Map(mappings.map((mapping) => [mapping.name, mapping]));
  const rows = Object.keys(written).map((name) => ({
    name,
    config: written[name],
    active: active.get(name),
    refusal: refused[name],
    path: `${path}/${name}`,
  }));
  return dataTable({
    key: "mappings",
    columns: mappingColumns,
    rows,
    empty:
      "There are no mappings yet. A mapping turns each request of a sender into an agent turn or an event.",
  });
}

const mappingColumns = [
  {
    title: "mapping",
    value: ({ name }) => name,
    cell: ({ name, path, config, refusal }) => [
      h("strong", {}, name),
      h("div", { class: "muted small" }, `${(config.methods ?? ["POST"]).join(", ")} ${path}`),
      config.enabled === false ? h("div", { class: "small" }, "off") : null,
      problem(typeof refusal === "object" ? JSON.stringify(refusal) : refusal),
    ],
  },
  { title: "credential", cell: ({ active }) => active?.credential ?? "–" },
  {
    title: "action",
    cell: ({ config: { action, session } }) =>
      action === "wake"
        ? "queues an event for the heartbeat"
        : [
            "starts a turn",
            h("div", { class: "muted small" }, session ? `in ${session}` : "in a separate session"),
          ],
  },
  {
    title: "",
    kind: "actions",
    cell: ({ name }) =>
      h(
        "div",
        { class: "row" },
        h(
          "a",
          { class: "button", href: href("mapping", name), "aria-label": `Edit ${name}` },
          "Edit",
        ),
        button("Settings", () => editMapping(name), { "aria-label": `Settings of ${name}` }),
        button("Remove", () => removeEntry("mappings", name), { "aria-label": `Remove ${name}` }),
      ),
  },
];

function keyTable(keys) {
  return dataTable({
    key: "webhook-keys",
    columns: keyColumns,
    rows: Object.entries(keys).map(([name, key]) => ({ name, ...key })),
    empty: "There are no named keys. Each sender can have a key with its own limit and paths.",
  });
}

const keyColumns = [
  { title: "key", value: ({ name }) => name, cell: ({ name }) => h("strong", {}, name) },
  { title: "may call", cell: ({ paths }) => paths?.join(", ") ?? "everything" },
  {
    title: "limit",
    cell: ({ rateLimit }) =>
      rateLimit
        ? `${rateLimit.maxRequests} in ${rateLimit.windowMs / 1000} s`
        : "the default limit",
  },
  { title: "sessions", cell: ({ name, sessions }) => sessions?.join(", ") ?? `webhook:${name}:*` },
  {
    title: "",
    kind: "actions",
    cell: ({ name }) =>
      h(
        "div",
        { class: "row" },
        button("Edit", () => editWebhookKey(name), { "aria-label": `Edit the key ${name}` }),
        button("Remove", () => removeEntry("keys", name), {
          "aria-label": `Remove the key ${name}`,
        }),
      ),
  },
];

async function removeEntry(kind, name) {
  const { version } = await readConfig();
  const edits = [{ path: ["webhooks", kind, name], remove: true }];
  const noun = kind === "keys" ? "key" : "mapping";
  await reviewEdits({ title: `Remove the ${noun} ${name}`, edits, version });
}

/** Creates a button that runs `work`. An error is shown above the page. */
function button(label, work, attributes = {}) {
  const onclick = () => void work().catch((error) => showError(error));
  return h("button", { type: "button", "data-key": label, ...attributes, onclick }, label);
}
