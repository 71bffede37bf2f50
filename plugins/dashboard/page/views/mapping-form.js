/** The forms that add a mapping, possibly for a received request, and that edit its settings other than templates. */
import { attempt, get } from "../api.js";
import { exactTime, href } from "../dom.js";
import { openForm } from "../forms.js";
import { memberEdits, readConfig, reviewEdits } from "../review.js";

const SCHEMES = ["github", "gitlab", "stripe", "slack", "linear", "shopify", "standard"];

const schemeOf = ({ verify }) => {
  if (verify === undefined) return "token";
  return SCHEMES.includes(verify.scheme) ? verify.scheme : "other";
};

function fieldsOf(mapping = {}) {
  const scheme = schemeOf(mapping);
  const other = scheme === "other" ? ["other"] : [];
  return [
    {
      name: "scheme",
      label: "Credential",
      kind: "choice",
      value: scheme,
      options: [
        { value: "token", label: "the webhook token or a webhook key" },
        ...[...SCHEMES, ...other].map((value) => ({ value, label: `the ${value} signature` })),
      ],
    },
    {
      name: "secret",
      label: "Signing secret",
      kind: "password",
      hint: mapping.verify
        ? "Leave empty to keep the current secret."
        : "The secret with which the sender signs its requests.",
      when: ({ scheme }) => scheme !== "token" && scheme !== "other",
    },
    {
      name: "action",
      label: "Action",
      kind: "choice",
      value: mapping.action ?? "agent",
      options: [
        { value: "agent", label: "start an agent turn" },
        { value: "wake", label: "queue an event for the heartbeat" },
      ],
    },
    {
      name: "model",
      label: "Model",
      value: mapping.model,
      hint: "Leave empty for agents.defaults.model.",
    },
    {
      name: "delivery",
      label: "The result",
      kind: "choice",
      value: typeof mapping.delivery === "object" ? "url" : (mapping.delivery ?? "none"),
      options: [
        { value: "none", label: "stays in the session" },
        { value: "announce", label: "is posted to the main session" },
        { value: "url", label: "is sent to an address" },
      ],
    },
    {
      name: "url",
      label: "Address for the result",
      value: mapping.delivery?.url,
      when: ({ delivery }) => delivery === "url",
    },
    {
      name: "enabled",
      label: "Enabled",
      kind: "flag",
      value: mapping.enabled !== false,
    },
  ];
}

/** Builds the mapping from the form. Members that the form does not show, such as a transform, stay unchanged. */
function mappingOf(values, before = {}) {
  const { scheme, secret, action, model, delivery, url, enabled } = values;
  return {
    verify: verifyOf(scheme, secret, before.verify),
    action: action === (before.action ?? "agent") ? before.action : action,
    model,
    delivery: deliveryOf(delivery, url, before.delivery),
    enabled: enabled ? undefined : false,
  };
}

function verifyOf(scheme, secret, before) {
  if (scheme === "token") return undefined;
  if (scheme === "other" || (secret === undefined && scheme === before?.scheme)) return before;
  if (secret === undefined)
    throw Object.assign(new Error("The signing secret is missing."), { field: "secret" });
  return { scheme, secret };
}

function deliveryOf(kind, url, before) {
  if (kind === "url") return typeof before === "object" ? { ...before, url } : { url };
  return kind === "none" && before === undefined ? undefined : kind;
}

export async function addMapping() {
  const [{ version, written }, recent] = await Promise.all([
    readConfig(),
    attempt(get("/webhooks/deliveries?limit=20")),
  ]);
  const mappings = written.webhooks?.mappings ?? {};
  const requests = (recent.value?.deliveries ?? []).map(({ id, source, at, outcome }) => ({
    value: id,
    label: `${exactTime(at)}: ${source}, ${outcome}`,
  }));
  openForm({
    title: "Add a mapping",
    fields: [
      {
        name: "name",
        label: "Name",
        required: true,
        hint: "The name becomes part of the mapping's address. It may contain letters, digits, . _ ~ and -.",
      },
      {
        name: "from",
        label: "From a received request",
        kind: "choice",
        options: [{ value: "", label: "none (capture a request later)" }, ...requests],
      },
      ...fieldsOf(),
    ],
    save: "Review",
    async submit(values) {
      const { name, from } = values;
      if (Object.hasOwn(mappings, name))
        throw Object.assign(new Error(`The mapping ${name} already exists.`), { field: "name" });
      const value = JSON.parse(
        JSON.stringify({ message: `An event from ${name}.`, ...mappingOf(values) }),
      );
      const edits = [{ path: ["webhooks", "mappings", name], value }];
      if (await reviewEdits({ title: `Add the mapping ${name}`, edits, version }))
        location.hash = href("mapping", name, { from });
    },
  });
}

export async function editMapping(name) {
  const { version, written } = await readConfig();
  const mapping = written.webhooks?.mappings?.[name] ?? {};
  openForm({
    title: `Settings of ${name}`,
    fields: fieldsOf(mapping),
    save: "Review",
    async submit(values) {
      const edits = memberEdits(
        ["webhooks", "mappings", name],
        mapping,
        mappingOf(values, mapping),
      );
      if (edits.length > 0)
        await reviewEdits({ title: `Change the mapping ${name}`, edits, version });
    },
  });
}
