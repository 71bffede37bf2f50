/** The page of client keys: their limits and usage, and the actions on one key. */
import { attempt, change, del, get, post } from "../api.js";
import {
  action,
  ago,
  badge,
  confirmDialog,
  count,
  dataTable,
  dollars,
  entryLink,
  facts,
  h,
  href,
  meter,
  notice,
  openDialog,
  problem,
  showToast,
  section,
  table,
} from "../dom.js";
import { openForm } from "../forms.js";
import { offerUndo } from "../undo-bar.js";
import { budgetFields, limitsOf } from "./budget-fields.js";

const pathOf = (name) => `/keys/${encodeURIComponent(name)}`;

export const keys = {
  id: "keys",
  title: "Keys",
  load: () => attempt(get("/keys")),
  render: (list, openName) =>
    section(
      "Client keys",
      list,
      ({ keys: rows }) =>
        dataTable({
          key: "keys",
          columns: columnsOf(openName),
          rows,
          sort: { column: "name" },
          empty:
            "There are no client keys yet. A key gives one client access to /v1, within the limits of the key.",
        }),
      h("button", { type: "button", class: "primary", onclick: createKey }, "Create a key"),
    ),
  detail: { load: loadDetail, render: renderDetail },
};

function columnsOf(openName) {
  const columns = [
    {
      title: "name",
      value: ({ name }) => name,
      cell: ({ name, warnings = [] }) => [
        entryLink("keys", name, name, { isCurrent: name === openName }),
        warnings.length > 0 ? [" ", badge("warning", "bad")] : null,
      ],
    },
    {
      title: "state",
      value: ({ state }) => state,
      cell: ({ state }) => badge(state),
      kind: "word",
    },
    { title: "spent", value: ({ spentUsd }) => spentUsd, cell: budgetBar },
  ];
  if (openName !== undefined) return columns;
  return [
    ...columns,
    { title: "models", cell: ({ models }) => models?.join(", ") ?? "all models except agents" },
    { title: "limits", kind: "text", cell: limitsText },
  ];
}

function budgetBar({ budget, spentUsd, name }) {
  if (budget === undefined) return h("span", { class: "muted" }, "no budget");
  if (spentUsd === undefined || spentUsd === null)
    return `${dollars(budget.usd)} per ${budget.per}, spending unknown`;
  const text = `${dollars(spentUsd)} of ${dollars(budget.usd)} this ${budget.per}`;
  return [meter(spentUsd, budget.usd, `${name}: ${text}`), h("div", { class: "small" }, text)];
}

function limitsText({ requestsPerMinute, tokensPerMinute, expiresAt, allowedIps }) {
  const parts = [
    requestsPerMinute === undefined ? null : `${count(requestsPerMinute)} requests per minute`,
    tokensPerMinute === undefined ? null : `${count(tokensPerMinute)} tokens per minute`,
    expiresAt === undefined ? null : `expires ${expiresAt}`,
    allowedIps === undefined ? null : `from ${allowedIps.join(", ")}`,
  ];
  return parts.filter(Boolean).join(", ") || "none";
}

async function loadDetail(name) {
  const query = `since=30d&key=${encodeURIComponent(name)}`;
  const [key, days, models] = await Promise.all([
    get(pathOf(name)),
    attempt(get(`/usage?by=day&${query}`)),
    attempt(get(`/usage?by=model&${query}`)),
  ]);
  return { key, days, models };
}

function renderDetail({ key, days, models }) {
  const { name, warnings = [], budget } = key;
  return [
    warnings.map(problem),
    facts([
      ["state", badge(key.state)],
      ["budget", budget === undefined ? "none" : budgetBar(key)],
      ["models", key.models?.join(", ") ?? "all models except agents"],
      ["additional tools for agent turns", key.tools?.join(", ")],
      ["limits", limitsText(key)],
      ["old secret valid until", key.previousUntil && ago(key.previousUntil)],
    ]),
    buttonsOf(key),
    h("h3", {}, "Usage in the last 30 days"),
    usageOf(days, models),
    h(
      "p",
      {},
      h("a", { href: href("requests", undefined, { key: name }) }, "Requests with this key"),
    ),
  ];
}

function usageOf(days, models) {
  if (days.error ?? models.error) return notice(days.error ?? models.error);
  const { total } = days.value;
  const amounts = [
    ["requests", ({ requests }) => count(requests), "number"],
    ["errors", ({ errors }) => count(errors), "number"],
    ["tokens", ({ totalTokens }) => count(totalTokens), "number"],
    ["cost", ({ costUsd }) => (costUsd === null ? "unknown" : dollars(costUsd)), "number"],
  ];
  if (total.requests === 0)
    return h("p", { class: "empty" }, "The key was not used in this period.");
  return [
    table([["model", ({ model }) => model], ...amounts], models.value.rows, ""),
    table([["day", ({ day }) => day], ...amounts], [...days.value.rows].reverse().slice(0, 14), ""),
  ];
}

function buttonsOf(key) {
  const { name, enabled } = key;
  const switchLabel = enabled ? "Disable" : "Enable";
  const switchKey = async () => {
    const message = `${name} is ${enabled ? "disabled" : "enabled"}.`;
    await changeKey(key, { enabled: !enabled }, message);
    return false;
  };
  return h(
    "div",
    { class: "row" },
    h("button", { type: "button", onclick: () => editKey(key), "data-key": "edit-key" }, "Edit"),
    h(
      "button",
      { type: "button", onclick: () => rotateKey(name), "data-key": "rotate-key" },
      "Rotate",
    ),
    action(switchLabel, `switch-${name}`, switchKey),
    action("Revoke", `revoke-${name}`, () => revokeKey(name), { class: "danger" }),
  );
}

async function revokeKey(name) {
  const isConfirmed = await confirmDialog({
    title: `Revoke the key ${name}?`,
    content:
      "From then on, the gateway refuses all requests with this key. A revoked key cannot be restored.",
    confirm: "Revoke",
  });
  if (!isConfirmed) return false;
  await del(pathOf(name));
  location.hash = href("keys");
  return `${name} is revoked`;
}

const fieldsOf = (key = {}) => [
  {
    name: "models",
    label: "Models",
    kind: "lines",
    value: key.models,
    hint: "One per line; * matches any text. Leave empty for all models except agents.",
  },
  {
    name: "requestsPerMinute",
    label: "Requests per minute",
    kind: "number",
    value: key.requestsPerMinute,
  },
  {
    name: "tokensPerMinute",
    label: "Tokens per minute",
    kind: "number",
    value: key.tokensPerMinute,
  },
  ...budgetFields(key.budget),
  {
    name: "expiresAt",
    label: "Expires",
    value: key.expiresAt,
    placeholder: "2027-12-31",
    hint: "A date, or a time such as 2027-12-31T12:00Z.",
  },
  {
    name: "allowedIps",
    label: "Allowed addresses",
    kind: "lines",
    value: key.allowedIps,
    rows: 2,
    hint: "Addresses or networks such as 10.0.0.0/8, one per line. Leave empty to allow every address.",
  },
  {
    name: "tools",
    label: "Additional tools for agent turns with this key",
    kind: "lines",
    value: key.tools,
    rows: 2,
    hint: "The names of the tools, one per line.",
  },
];

function createKey() {
  const name = {
    name: "name",
    label: "Name",
    required: true,
    hint: "Letters, digits, dots, hyphens and underscores.",
  };
  openForm({
    title: "Create a client key",
    fields: [name, ...fieldsOf()],
    save: "Create",
    async submit(values) {
      const created = await post("/keys", { name: values.name, ...limitsOf(values) });
      dispatchEvent(new Event("portico:changed"));
      showSecret(created, () => offerRevocation(created));
    },
  });
}

/** Offers to undo a creation. That revokes the key, so the button says so. */
function offerRevocation({ name, version }) {
  const undo = () => change("DELETE", pathOf(name), undefined, version);
  offerUndo({ undo, label: `Undo: revoke ${name}` }, h("span", {}, `The key ${name} was created.`));
}

/** Edits a key. The form sends only the changes, at the version that it shows. */
function editKey(key) {
  openForm({
    title: `Edit ${key.name}`,
    fields: fieldsOf(key),
    async submit(values) {
      const changes = Object.entries(limitsOf(values)).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(key[name]),
      );
      if (changes.length === 0) return;
      const names = changes.map(([name]) => name).join(", ");
      await changeKey(key, Object.fromEntries(changes), `${key.name}: saved ${names}.`);
    },
  });
}

/** Changes members of a key, and offers to restore them unless somebody has changed the key since. */
async function changeKey(key, changes, message) {
  const names = Object.keys(changes);
  const path = pathOf(key.name);
  const membersOf = (source) =>
    Object.fromEntries(names.map((name) => [name, source[name] ?? null]));
  const { version } = await change("PATCH", path, membersOf(changes), key.version);
  dispatchEvent(new Event("portico:changed"));
  const undo = () => change("PATCH", path, membersOf(key), version);
  offerUndo({ undo }, h("span", {}, message));
}

function rotateKey(name) {
  openForm({
    title: `Give ${name} a new secret`,
    note:
      "The key keeps its limits and its usage. The old secret stays valid for the time that you choose. " +
      "This cannot be undone: a secret that is no longer valid cannot be restored.",
    fields: [
      {
        name: "overlap",
        label: "The old secret stays valid for",
        kind: "choice",
        options: [
          { value: "24h", label: "24 hours" },
          { value: "1h", label: "1 hour" },
          { value: "7d", label: "7 days" },
          { value: "0", label: "0 hours (the secret becomes invalid at once)" },
        ],
        value: "24h",
      },
    ],
    save: "Rotate",
    async submit({ overlap }) {
      const created = await post(`${pathOf(name)}/rotate`, { overlap });
      dispatchEvent(new Event("portico:changed"));
      showSecret(created);
    },
  });
}

/** Shows a new secret, of which the gateway stores only the hash. Runs `onClose` after the reader has closed the dialog. */
function showSecret({ name, key, warnings = [] }, onClose) {
  const secret = h("pre", { class: "secret", tabindex: "0" }, key);
  const copy = async () => {
    await navigator.clipboard.writeText(key);
    showToast("Copied");
  };
  const dialog = openDialog({
    title: `The secret of ${name}`,
    stays: true,
    content: [
      h("p", {}, "Copy the secret now: the gateway shows it only once."),
      secret,
      warnings.map(problem),
      h(
        "div",
        { class: "row end" },
        navigator.clipboard ? h("button", { type: "button", onclick: copy }, "Copy") : null,
        h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Done"),
      ),
    ],
    onClose,
  });
}
