/** The forms that add and edit a channel. */
import { get, post } from "../api.js";
import { showToast, showError } from "../dom.js";
import { openForm } from "../forms.js";
import { memberEdits, readConfig, reviewEdits } from "../review.js";
import { budgetFields, limitsOf } from "./budget-fields.js";

const REFERENCE = "${NAME}";
const SECRET_HINT = `The key itself, or ${REFERENCE} to read it from an environment variable or from the .env file in Portico's home directory.`;

const fieldsOf = (channel, providers, isNew) => [
  ...upstreamFields(channel, providers, isNew),
  ...limitFields(channel),
];

function upstreamFields(channel, providers, isNew) {
  const isOf = (name) => (values) => values.provider === name;
  return [
    {
      name: "provider",
      label: "Provider",
      kind: "choice",
      options: providers.map(providerOption),
      value: channel.provider ?? "openai",
    },
    {
      name: "baseUrl",
      label: "Address",
      value: channel.baseUrl,
      suggestions: providers.flatMap(({ baseUrl }) => baseUrl ?? []),
      hint: "Leave empty for the provider's own address. For openai, include /v1; for other providers, give the address without a path.",
    },
    {
      name: "apiKey",
      label: "API key",
      kind: "password",
      hint: isNew ? SECRET_HINT : `Leave empty to keep the current key. ${SECRET_HINT}`,
    },
    {
      name: "models",
      label: "Models",
      kind: "lines",
      value: channel.models,
      hint: "One per line; * matches any text. Leave empty for all models that the provider lists.",
    },
    { name: "region", label: "Region", value: channel.region, when: isOf("bedrock") },
    {
      name: "apiVersion",
      label: "API version",
      value: channel.apiVersion,
      when: isOf("azure"),
      hint: "Leave empty for the v1 API.",
    },
  ];
}

function providerOption({ name, description }) {
  const label = description && description !== name ? `${name} (${description})` : name;
  return { value: name, label };
}

function limitFields(channel) {
  const number = (name, label, hint) => ({
    name,
    label,
    hint,
    kind: "number",
    value: channel[name],
  });
  return [
    number("priority", "Priority", "Channels with a higher priority are tried first."),
    number(
      "weight",
      "Weight",
      "This channel's share of the requests among channels of the same priority. Leave empty for 1.",
    ),
    number("requestsPerMinute", "Requests per minute"),
    number("tokensPerMinute", "Tokens per minute"),
    number("maxConcurrent", "Concurrent requests"),
    ...budgetFields(channel.budget),
  ];
}

async function readState() {
  const [config, { providers }] = await Promise.all([readConfig(), get("/providers")]);
  return { ...config, providers: providers.filter(({ composite }) => !composite) };
}

export async function addChannel() {
  const { version, written, providers } = await readState();
  openForm({
    title: "Add a channel",
    fields: [
      {
        name: "name",
        label: "Name",
        required: true,
        hint: "Clients can request the channel's models as <name>/<model>.",
      },
      ...fieldsOf({}, providers, true),
    ],
    save: "Review",
    async submit(values) {
      const { name } = values;
      if (Object.hasOwn(written.channels ?? {}, name))
        throw Object.assign(new Error(`The channel ${name} already exists.`), { field: "name" });
      const value = withoutUndefined(limitsOf(values));
      const edits = [{ path: ["channels", name], value }];
      const title = `Add the channel ${name}`;
      if (await reviewEdits({ title, edits, version })) void testNow(name);
    },
  });
}

export async function editChannel(name) {
  const { version, written, providers } = await readState();
  const channel = written.channels?.[name] ?? {};
  openForm({
    title: `Edit the channel ${name}`,
    fields: fieldsOf(channel, providers, false),
    save: "Review",
    async submit(values) {
      const { apiKey, ...members } = limitsOf(values);
      const changed = apiKey === undefined ? members : { ...members, apiKey };
      const edits = memberEdits(["channels", name], channel, changed);
      if (edits.length === 0) return;
      const title = `Change the channel ${name}`;
      if (await reviewEdits({ title, edits, version })) void testNow(name);
    },
  });
}

/** Tests a channel right after it was saved, since its owner wants to know next whether it works. */
async function testNow(name) {
  try {
    const result = await post(`/channels/${encodeURIComponent(name)}/test`, {});
    if (result.ok) showToast(`${name} responded in ${result.ms} ms (${result.model})`);
    else showError(new Error(`The channel ${name} is saved, but a test failed: ${result.error}`));
  } catch (error) {
    showError(error);
  }
}

const withoutUndefined = (value) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
