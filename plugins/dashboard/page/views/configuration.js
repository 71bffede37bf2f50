/** The configuration as a form, made from its schema. Each field is written by itself, and applied at once. */
import { attempt, get, post } from "../api.js";
import { action, h, notice, problem } from "../dom.js";

export const configuration = {
  id: "configuration",
  title: "Configuration",
  async mount(root, left) {
    const { value, error } = await attempt(get("/kernel/config"));
    if (left.aborted) return;
    root.replaceChildren(...(error ? [notice(error)] : page(value)));
  },
};

function page({ schema, value, problem: wrong }) {
  const rows = fieldsOf(schema, value, []).map(row);
  const search = h("input", {
    type: "search",
    "aria-label": "Filter",
    placeholder: "Filter",
    oninput: () => {
      for (const each of rows)
        each.hidden = !each.dataset.key.toLowerCase().includes(search.value.toLowerCase());
    },
  });
  return [
    h("h2", {}, "Configuration"),
    problem(wrong?.message),
    h("p", {}, search),
    ...rows,
  ].filter(Boolean);
}

/** Maps and lists are one field each, as JSON. */
function fieldsOf(schema, value, path) {
  const inner = schema.type === "object" ? Object.entries(schema.properties ?? {}) : [];
  if (inner.length === 0) return [{ key: path.join("."), schema, value }];
  return inner.flatMap(([name, below]) => fieldsOf(below, value?.[name], [...path, name]));
}

function row({ key, schema, value }) {
  const { element, read } = control(key, schema, value);
  const save = action(
    "Save",
    `save-${key}`,
    () => post("/kernel/config", { key, value: read() }).then(() => `${key} is written`),
    {
      "aria-label": `Save: ${key}`,
    },
  );
  const onkeydown = (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT" && !event.isComposing)
      save.click();
  };
  return h(
    "div",
    { class: "field", "data-key": key },
    h("label", { for: `config-${key}` }, key),
    h("div", { class: "muted small" }, schema.description ?? ""),
    h("div", { class: "row", onkeydown }, element, save),
  );
}

/** What a value may be: a schema of its own, or several. */
const alternatives = (schema) => schema.anyOf ?? [schema];
const typeOf = (schema) => schema.type ?? typeof schema.const;

function control(key, schema, value) {
  const id = `config-${key}`;
  const choices =
    schema.type === "boolean" ? [true, false] : alternatives(schema).map((one) => one.const);
  if (choices.every((one) => one !== undefined)) {
    const element = h(
      "select",
      { id },
      ["", ...choices].map((one) =>
        h(
          "option",
          { value: String(one), selected: String(one) === String(value ?? "") },
          String(one),
        ),
      ),
    );
    return { element, read: () => choices.find((one) => String(one) === element.value) };
  }
  const types = new Set(alternatives(schema).map(typeOf));
  const isPlain = [...types].every((type) => ["string", "number", "integer"].includes(type));
  if (isPlain || typeof value === "string") return line(id, schema, types, value);
  const element = h(
    "textarea",
    { id, rows: "3" },
    value === undefined ? "" : JSON.stringify(value, null, 2),
  );
  return {
    element,
    read: () => (element.value.trim() === "" ? undefined : parsed(key, element.value)),
  };
}

function parsed(key, text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${key}: this is not JSON: ${error.message}`);
  }
}

/** A text or a number, or what may be either. */
function line(id, schema, types, value) {
  const isMasked = value === "********";
  const isSecret = isMasked || alternatives(schema).some(({ secret }) => secret);
  const takesNumber = types.has("number") || types.has("integer");
  const isNumber = takesNumber && !types.has("string");
  const element = h("input", {
    id,
    type: isSecret ? "password" : isNumber ? "number" : "text",
    step: "any",
    autocomplete: "off",
    placeholder: isMasked ? "it is set; a new value takes its place" : "",
    value: isMasked ? "" : value,
  });
  const read = () => {
    if (element.value === "") return undefined;
    return takesNumber && Number.isFinite(Number(element.value))
      ? Number(element.value)
      : element.value;
  };
  return { element, read };
}
