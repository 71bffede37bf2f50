/** The forms that add and edit a named key of webhooks, and that turn webhooks on. */
import { openForm } from "../forms.js";
import { memberEdits, readConfig, reviewEdits } from "../review.js";

function randomToken() {
  const random = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...random))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

export async function turnOn() {
  const { version } = await readConfig();
  openForm({
    title: "Turn webhooks on",
    note: "Anyone who has this token can act on behalf of the owner. Named keys and mappings allow less.",
    fields: [
      tokenField(
        randomToken(),
        "Copy the token now: from now on, the console shows it only masked.",
      ),
    ],
    save: "Review",
    async submit({ token }) {
      const edits = [{ path: ["webhooks", "token"], value: token }];
      await reviewEdits({ title: "Turn webhooks on", edits, version });
    },
  });
}

const tokenField = (value, hint) => ({
  name: "token",
  label: "Token",
  value,
  required: value !== undefined,
  hint,
});

const fieldsOf = ({ paths, sessions, models, rateLimit } = {}) => [
  {
    name: "paths",
    label: "May call",
    kind: "lines",
    value: paths,
    hint: "One per line: wake, agent, the name of a mapping, a pattern such as ci-*, or / for the webhooks' base path itself. Leave empty for everything.",
  },
  {
    name: "sessions",
    label: "Sessions that the key may use",
    kind: "lines",
    rows: 2,
    value: sessions,
  },
  { name: "models", label: "Models that the key may use", kind: "lines", rows: 2, value: models },
  {
    name: "maxRequests",
    label: "Requests per period",
    kind: "number",
    value: rateLimit?.maxRequests,
    hint: "Leave empty for the default limit.",
  },
  {
    name: "seconds",
    label: "Period in seconds",
    kind: "number",
    value: (rateLimit?.windowMs ?? 60_000) / 1000,
    when: ({ maxRequests }) => maxRequests !== "",
  },
];

function keyOf({ token, paths, sessions, models, maxRequests, seconds }) {
  const rateLimit =
    maxRequests === undefined ? undefined : { maxRequests, windowMs: Math.round(seconds * 1000) };
  return { token, paths, sessions, models, rateLimit };
}

export async function addWebhookKey() {
  const { version, written } = await readConfig();
  const keys = written.webhooks?.keys ?? {};
  openForm({
    title: "Add a named key",
    fields: [
      { name: "name", label: "Name", required: true },
      tokenField(
        randomToken(),
        "Copy the token now: from now on, the console shows it only masked.",
      ),
      ...fieldsOf(),
    ],
    save: "Review",
    async submit(values) {
      const { name } = values;
      if (Object.hasOwn(keys, name))
        throw Object.assign(new Error(`The key ${name} already exists.`), { field: "name" });
      const value = JSON.parse(JSON.stringify(keyOf(values)));
      const edits = [{ path: ["webhooks", "keys", name], value }];
      await reviewEdits({ title: `Add the key ${name}`, edits, version });
    },
  });
}

export async function editWebhookKey(name) {
  const { version, written } = await readConfig();
  const key = written.webhooks?.keys?.[name] ?? {};
  openForm({
    title: `Edit the key ${name}`,
    fields: [tokenField(undefined, "Leave empty to keep the current token."), ...fieldsOf(key)],
    save: "Review",
    async submit(values) {
      const { token, ...members } = keyOf(values);
      const changed = token === undefined ? members : { ...members, token };
      const edits = memberEdits(["webhooks", "keys", name], key, changed);
      if (edits.length > 0) await reviewEdits({ title: `Change the key ${name}`, edits, version });
    },
  });
}
