/**
 * The fields of the configuration's form, generated from its schema. Each change goes into `drafts`, by its key. Every
 * section, group, entry and field has its key in `data-setting`.
 */
import { h, problem, withCode } from "../dom.js";

const MASKED = "********";
/** The number of member names that are shown next to the name of a section. */
const MAX_MEMBERS = 6;

/** Returns the names of the sections. Objects come before plain values such as `$schema`. */
export function sectionNames({ schema }) {
  const sections = Object.entries(schema.properties ?? {});
  const isPlain = ([, { type }]) => type !== "object";
  return sections.sort((a, b) => isPlain(a) - isPlain(b)).map(([name]) => name);
}

/** Creates one collapsible part of the page for each section. `isOpen(name)` decides whether it is open at first. */
export function sectionsOf(config, { drafts, onChange, isOpen }) {
  const form = { ...config, drafts, onChange };
  return sectionNames(config).map((name) => {
    const schema = config.schema.properties[name];
    return h(
      "details",
      {
        class: "config-section",
        "data-key": `section-${name}`,
        "data-setting": name,
        open: isOpen(name),
      },
      h(
        "summary",
        {},
        h("strong", {}, name),
        " ",
        muted(schema.description ?? membersOf(config, name)),
      ),
      partsOf(form, schema, [name]),
    );
  });
}

/** Describes a section without a description by its members, such as the names of channels. */
function membersOf({ value }, name) {
  const members = Object.keys(value[name] ?? {});
  const rest = members.length > MAX_MEMBERS ? ", …" : "";
  return `${members.slice(0, MAX_MEMBERS).join(", ")}${rest}`;
}

const muted = (text) => h("span", { class: "muted small" }, withCode(text ?? ""));

/** Creates the parts for a schema: a map's entries, a group of settings, or one field. */
function partsOf(form, schema, path) {
  const entry = entrySchema(schema);
  if (entry) return groupOf(path, mapOf(form, schema, entry, path));
  const inner = schema.type === "object" ? Object.entries(schema.properties ?? {}) : [];
  if (inner.length === 0) return field(form, schema, path);
  const parts = inner.flatMap(([name, below]) => partsOf(form, below, [...path, name]));
  // Everything below a heading seems to belong to it, so the settings without a group come first.
  const isGroup = (part) => part.matches(".setting-group");
  return groupOf(path, [...parts.filter((part) => !isGroup(part)), ...parts.filter(isGroup)]);
}

/** Puts parts below a heading. The parts of a whole section are already below its summary. */
function groupOf(path, parts) {
  if (path.length === 1) return parts;
  const key = keyOf(path);
  const heading = h("h3", {}, key);
  return h("div", { class: "setting-group", "data-setting": key }, heading, parts);
}

/** Returns the schema of a map's entries if they are objects; undefined for anything else. */
function entrySchema(schema) {
  if (schema.type !== "object") return undefined;
  const rest = schema.additionalProperties ?? Object.values(schema.patternProperties ?? {})[0];
  const isEntry = (each) => each?.type === "object" || (each?.anyOf ?? []).some(isEntry);
  return isEntry(rest) ? rest : undefined;
}

const valueAt = (value, path) =>
  path.reduce(
    (parent, step) =>
      typeof parent === "object" && parent !== null && Object.hasOwn(parent, step)
        ? parent[step]
        : undefined,
    value,
  );

function keyOf(path) {
  return path
    .map((step) => (/^[^\s.[\]"']+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`))
    .join("")
    .replace(/^\./, "");
}

/** Creates the parts of a map. Entries are changed and removed one by one, so that no other entry is rewritten. */
function mapOf(form, schema, entry, path) {
  const key = keyOf(path);
  const fixedNames = Object.keys(schema.properties ?? {});
  const names = Object.keys(valueAt(form.value, path) ?? {}).filter(
    (name) => !fixedNames.includes(name),
  );
  const list = h("div", { class: "entries" });
  const newNames = [...form.drafts.values()]
    .filter((draft) => draft.isNew && keyOf(draft.path.slice(0, -1)) === key)
    .map((draft) => draft.path.at(-1));
  list.append(...names.map((name) => entryOf(form, entry, [...path, name])));
  list.append(...newNames.map((name) => newEntry(form, entry, [...path, name])));
  const fixedParts = fixedNames.map((name) =>
    partsOf(form, schema.properties[name], [...path, name]),
  );
  return [fixedParts, list, rowForNewEntry(form, entry, path, names, list)].flat();
}

function rowForNewEntry(form, entry, path, names, list) {
  const key = keyOf(path);
  const name = h("input", { "aria-label": `Name of a new entry of ${key}`, placeholder: "name" });
  const problemText = problem(" ");
  problemText.textContent = "";
  const add = () => {
    const newName = name.value.trim();
    const isTaken = names.includes(newName) || form.drafts.has(keyOf([...path, newName]));
    problemText.textContent = isTaken ? `The entry ${newName} already exists.` : "";
    if (newName === "" || isTaken) return name.focus();
    list.append(newEntry(form, entry, [...path, newName]));
    name.value = "";
  };
  return h(
    "div",
    { class: "row adder", "data-setting": key },
    name,
    h("button", { type: "button", onclick: add, "aria-label": `Add to ${key}` }, "Add"),
    problemText,
  );
}

function newEntry(form, schema, path) {
  const key = keyOf(path);
  const draft = form.drafts.get(key);
  const initial = draft?.value ?? {};
  const remember = (value, error) => {
    form.drafts.set(key, { path, value, error, isNew: true });
    form.onChange();
  };
  if (!draft) remember(initial);
  const { element, problemText } = jsonControl(`config-${key}`, initial, (value, error) =>
    remember(value ?? {}, error),
  );
  const discardButton = h(
    "button",
    {
      type: "button",
      "aria-label": `Do not add ${key}`,
      onclick: () => {
        form.drafts.delete(key);
        box.remove();
        form.onChange();
      },
    },
    "Do not add",
  );
  const box = h(
    "div",
    { class: "field entry", "data-key": key, "data-setting": key },
    h("label", { for: `config-${key}` }, `${key} (new)`),
    h("div", { class: "muted small" }, settingsOf(schema)),
    h("div", { class: "row" }, element, discardButton),
    problemText,
  );
  return box;
}

/** Describes the possible keys of a new entry. */
function settingsOf(schema) {
  const names = alternatives(schema).flatMap((each) => Object.keys(each.properties ?? {}));
  return names.length === 0 ? "" : `JSON; possible keys: ${names.join(", ")}`;
}

function entryOf(form, schema, path) {
  const key = keyOf(path);
  const body = h("div", {}, entryFields(form, schema, path));
  const summary = h("summary", {}, h("strong", {}, key));
  const remove = h("button", { type: "button" });
  const show = () => {
    const isRemoved = form.drafts.get(key)?.remove === true;
    body.hidden = isRemoved;
    summary.classList.toggle("gone", isRemoved);
    remove.textContent = isRemoved ? "Keep" : "Remove";
    remove.ariaLabel = `${isRemoved ? "Keep" : "Remove"} ${key}`;
  };
  remove.addEventListener("click", () => {
    if (form.drafts.get(key)?.remove) form.drafts.delete(key);
    else form.drafts.set(key, { path, remove: true });
    show();
    form.onChange();
  });
  show();
  return h(
    "details",
    { class: "entry", "data-key": `entry-${key}`, "data-setting": key },
    summary,
    body,
    remove,
  );
}

/** Creates the fields that the entry sets, and the others on demand. An entry that is no object is one field. */
function entryFields(form, schema, path) {
  const written = valueAt(form.written, path);
  const isObject = typeof written === "object" && written !== null && !Array.isArray(written);
  const members = alternatives(schema).find(({ type }) => type === "object")?.properties ?? {};
  if (!isObject) return field(form, schema, path);
  const names = Object.keys(written);
  const fields = h(
    "div",
    {},
    names.map((name) => partsOf(form, members[name] ?? {}, [...path, name])),
  );
  const rest = Object.keys(members).filter((name) => !names.includes(name));
  return [fields, rest.length > 0 && moreSettings(form, members, rest, path, fields)];
}

function moreSettings(form, members, rest, path, fields) {
  const choose = h(
    "select",
    { "aria-label": `Add a setting to ${keyOf(path)}` },
    h("option", { value: "" }, "Add a setting …"),
    rest.map((name) => h("option", { value: name }, name)),
  );
  const open = (name) => {
    fields.append(...[partsOf(form, members[name], [...path, name])].flat(3));
    [...choose.options].find(({ value }) => value === name)?.remove();
  };
  choose.addEventListener("change", () => {
    if (choose.value !== "") open(choose.value);
    choose.value = "";
  });
  for (const name of rest) if (form.drafts.has(keyOf([...path, name]))) open(name);
  return choose;
}

function field(form, schema, path) {
  const key = keyOf(path);
  const draft = form.drafts.get(key);
  const saved = valueAt(form.value, path);
  const isWritten = valueAt(form.written, path) !== undefined;
  const problemText = h("p", { class: "problem", role: "alert" }, draft?.error ?? "");
  const remember = (value, error) => {
    problemText.textContent = error ?? "";
    const isSame = error === undefined && JSON.stringify(value) === JSON.stringify(saved);
    if (isSame) form.drafts.delete(key);
    else if (value === undefined && error === undefined)
      form.drafts.set(key, { path, remove: true });
    else form.drafts.set(key, { path, value, error });
    row.classList.toggle("changed", form.drafts.has(key));
    form.onChange();
  };
  const value = draft && !draft.remove ? draft.value : saved;
  const { element } = controlFor(`config-${key}`, schema, value, remember);
  // The form is drawn again after each save, also while the reader types, so the control keeps the focus by its key.
  element.dataset.key = `control-${key}`;
  const marks = [
    schema.atNextStart ? "takes effect at the next start of the gateway" : "",
    isWritten ? "" : "default",
  ].filter(Boolean);
  const row = h(
    "div",
    {
      class: "field setting",
      "data-key": key,
      "data-setting": key,
      "data-written": isWritten,
    },
    h(
      "div",
      {},
      h("label", { for: `config-${key}` }, labelOf(path)),
      marks.length > 0 && muted(` ${marks.join(", ")}`),
      h("div", { class: "muted small" }, withCode(schema.description ?? "")),
    ),
    h(
      "div",
      {},
      h("div", { class: "row" }, element, isWritten && resetButton(key, element, remember)),
      problemText,
    ),
  );
  row.classList.toggle("changed", draft !== undefined);
  return row;
}

/** Shows the whole key, so that readers can search and copy it, with its last part emphasised. */
function labelOf(path) {
  const key = keyOf(path);
  const before = keyOf(path.slice(0, -1));
  return [h("span", { class: "muted" }, before), h("strong", {}, key.slice(before.length))];
}

/** Creates the button that removes the key from the file. */
function resetButton(key, element, remember) {
  const reset = () => {
    element.value = "";
    remember(undefined);
  };
  return h(
    "button",
    { type: "button", onclick: reset, "aria-label": `Use the default of ${key}` },
    "Default",
  );
}

/** Returns the alternative schemas of a value. */
const alternatives = (schema) => schema.anyOf ?? [schema];
const typeOf = (schema) => schema.type ?? typeof schema.const;

function controlFor(id, schema, value, remember) {
  const choices =
    schema.type === "boolean" ? [true, false] : alternatives(schema).map((each) => each.const);
  if (choices.every((each) => each !== undefined))
    return choiceControl(id, choices, value, remember);
  const types = new Set(alternatives(schema).map(typeOf));
  const isPlain = [...types].every((type) => ["string", "number", "integer"].includes(type));
  if (isPlain || typeof value === "string") return lineControl(id, schema, types, value, remember);
  if (isTextList(schema, value)) return linesControl(id, value, remember);
  return jsonControl(id, value, remember);
}

function choiceControl(id, choices, value, remember) {
  const options = ["", ...choices].map((each) =>
    h(
      "option",
      { value: String(each), selected: String(each) === String(value ?? "") },
      String(each),
    ),
  );
  const element = h("select", { id }, options);
  element.addEventListener("change", () =>
    remember(choices.find((each) => String(each) === element.value)),
  );
  return { element };
}

/** Returns true for a list of strings whose entries survive as one line each. */
function isTextList(schema, value = []) {
  const list = alternatives(schema).find(({ type }) => type === "array");
  const isText = (item) => alternatives(item).every((each) => typeOf(each) === "string");
  if (list?.items === undefined || !isText(list.items) || !Array.isArray(value)) return false;
  return JSON.stringify(linesOf(value.join("\n"))) === JSON.stringify(value);
}

const linesOf = (text) =>
  text
    .split("\n")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");

/** Creates a field with one entry per line. An emptied field is an empty list; the button next to it removes the key. */
function linesControl(id, value, remember) {
  const rows = String(Math.min(12, (value ?? []).length + 2));
  const element = h("textarea", {
    id,
    rows,
    placeholder: "one value per line",
    spellcheck: "false",
  });
  element.value = (value ?? []).join("\n");
  element.addEventListener("input", () => {
    const entries = linesOf(element.value);
    remember(entries.length > 0 || value !== undefined ? entries : undefined);
  });
  return { element };
}

function jsonControl(id, value, remember) {
  const problemText = h("p", { class: "problem", role: "alert" });
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  const element = h("textarea", { id, rows: String(Math.min(12, text.split("\n").length + 1)) });
  element.value = text;
  element.addEventListener("input", () => {
    problemText.textContent = "";
    if (element.value.trim() === "") return remember(undefined);
    try {
      remember(JSON.parse(element.value));
    } catch (error) {
      const key = id.slice("config-".length);
      problemText.textContent = `${key} must be JSON: ${error.message}`;
      remember(value, problemText.textContent);
    }
  });
  return { element, problemText };
}

/** Creates an input for a text, a number, or a value that may be either. */
function lineControl(id, schema, types, value, remember) {
  const isMasked = value === MASKED;
  const isSecret = isMasked || alternatives(schema).some(({ secret }) => secret);
  const takesNumber = types.has("number") || types.has("integer");
  const plainType = takesNumber && !types.has("string") ? "number" : "text";
  const element = h("input", {
    id,
    type: isSecret ? "password" : plainType,
    step: "any",
    autocomplete: "off",
    placeholder: isMasked ? "already set; a new value replaces the old one" : "",
    value: isMasked ? "" : value,
  });
  element.addEventListener("input", () => {
    const text = element.value;
    if (text === "") return remember(isMasked ? MASKED : undefined);
    remember(takesNumber && Number.isFinite(Number(text)) ? Number(text) : text);
  });
  return { element };
}
