/** The section of aliases: names that clients use for one or several models. */
import { get } from "../api.js";
import { badge, dataTable, h, section, showError } from "../dom.js";
import { openForm } from "../forms.js";
import { memberEdits, readConfig, reviewEdits } from "../review.js";
import { channelBadge } from "./channel-state.js";

/** Creates the section. `aliases` comes from `attempt`; `channels` give the state of each target. */
export function aliasSection(aliases, channels) {
  return section(
    "Aliases",
    aliases,
    (all) =>
      dataTable({
        key: "aliases",
        columns: columnsOf(channels),
        rows: Object.entries(all).map(([name, alias]) => ({ name, ...shapeOf(alias) })),
        empty:
          "There are no aliases. An alias is a name under which clients can request one or more models.",
      }),
    button("Add an alias", () => editAlias(), { class: "primary" }),
  );
}

/** Returns an alias as an object: it may be written as the name of its only target. */
const shapeOf = (alias) => (typeof alias === "string" ? { targets: [alias] } : alias);

function columnsOf(channels) {
  return [
    { title: "alias", value: ({ name }) => name, cell: ({ name }) => h("strong", {}, name) },
    {
      title: "targets",
      cell: ({ targets }) =>
        h(
          "ol",
          { class: "targets" },
          targets.map((target) => h("li", {}, target, " ", stateOf(target, channels))),
        ),
    },
    { title: "strategy", cell: ({ strategy }) => strategy ?? "fallback", kind: "word" },
    { title: "other settings", cell: extrasOf },
    {
      title: "",
      kind: "actions",
      cell: ({ name }) => [
        button("Edit", () => editAlias(name), { "aria-label": `Edit ${name}` }),
        button("Remove", () => removeAlias(name), { "aria-label": `Remove ${name}` }),
      ],
    },
  ];
}

/** Returns the state of a target that names its channel. Other targets may go to several channels. */
function stateOf(target, channels) {
  const channel = channels.find(({ name }) => target.startsWith(`${name}/`));
  if (!channel) return null;
  const model = target.slice(channel.name.length + 1);
  if (channel.restingModels?.includes(model)) return badge("resting");
  return channelBadge(channel);
}

function extrasOf({ system, params, cache, fallbackOn }) {
  const parts = [
    system === undefined ? null : "system prompt",
    params === undefined ? null : `parameters: ${Object.keys(params).join(", ")}`,
    cache === undefined ? null : "cache",
    fallbackOn === undefined ? null : `also falls back after ${fallbackOn.join(", ")}`,
  ];
  return parts.filter(Boolean).join("; ") || "–";
}

const button = (label, work, attributes = {}) =>
  h(
    "button",
    {
      type: "button",
      ...attributes,
      onclick: () => void work().catch((error) => showError(error)),
    },
    label,
  );

async function editAlias(name) {
  const [{ version, written }, { data }] = await Promise.all([readConfig(), get("/v1/models")]);
  const before = name === undefined ? undefined : written.models?.[name];
  const alias = before === undefined ? { targets: [] } : shapeOf(before);
  openForm({
    title: name === undefined ? "Add an alias" : `Edit the alias ${name}`,
    fields: [...nameField(name), ...fieldsOf(alias)],
    save: "Review",
    previewAfter: "targets",
    preview: ({ targets = [] }) => unknownTargets(targets, data),
    async submit(values) {
      const key = name ?? values.name;
      if (name === undefined && Object.hasOwn(written.models ?? {}, key))
        throw Object.assign(new Error(`The alias ${key} already exists.`), { field: "name" });
      const edits = editsOf(key, before, alias, aliasOf(values, alias));
      if (edits.length === 0) return;
      await reviewEdits({ title: `Save the alias ${key}`, edits, version });
    },
  });
}

const nameField = (name) =>
  name === undefined ? [{ name: "name", label: "Name", required: true }] : [];

const fieldsOf = ({ targets, strategy, system, params = {} }) => [
  {
    name: "targets",
    label: "Targets",
    kind: "lines",
    required: true,
    value: targets,
    hint: "One per line: channel/model, or a model's name alone.",
  },
  {
    name: "strategy",
    label: "Strategy",
    kind: "choice",
    value: strategy ?? "fallback",
    options: [
      { value: "fallback", label: "fallback: in this order" },
      { value: "weighted", label: "weighted: by the channels' weights" },
      { value: "latency", label: "latency: the fastest first" },
      { value: "cost", label: "cost: the cheapest first" },
    ],
  },
  {
    name: "system",
    label: "System prompt, placed before all messages",
    kind: "long",
    value: system,
  },
  {
    name: "default",
    label: "Default parameters, for requests that do not set them",
    kind: "json",
    value: params.default,
    hint: 'As JSON: {"temperature": 0.2}',
  },
  {
    name: "max",
    label: "Upper limits of parameters",
    kind: "json",
    value: params.max,
    hint: 'As JSON: {"max_tokens": 2000}',
  },
];

/** Builds the alias from the form. Members that the form does not show stay unchanged. */
function aliasOf({ targets, strategy, system, ...values }, before) {
  const params = { ...before.params, default: values.default, max: values.max };
  const isPlain = Object.values(params).every((value) => value === undefined);
  return {
    targets,
    strategy: strategy === "fallback" ? undefined : strategy,
    system,
    params: isPlain ? undefined : JSON.parse(JSON.stringify(params)),
  };
}

function editsOf(name, written, before, after) {
  const path = ["models", name];
  if (typeof written === "object") return memberEdits(path, before, after);
  const value = JSON.parse(JSON.stringify(after));
  const isSame = JSON.stringify(value) === JSON.stringify(before);
  return isSame && written !== undefined ? [] : [{ path, value }];
}

function unknownTargets(targets, models) {
  const ids = models.map(({ id }) => id);
  const isListed = (target) => ids.some((id) => id === target || id.endsWith(`/${target}`));
  const unknownNames = targets.filter((target) => !isListed(target));
  if (unknownNames.length === 0) return null;
  return h("p", { class: "hint" }, `No channel lists ${unknownNames.join(", ")} at the moment.`);
}

async function removeAlias(name) {
  const { version } = await readConfig();
  const edits = [{ path: ["models", name], remove: true }];
  await reviewEdits({ title: `Remove the alias ${name}`, edits, version });
}
