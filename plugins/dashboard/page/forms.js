/** Forms in a dialog, which stay open while the page below refreshes. */
import { formRow, h, openDialog, problem } from "./dom.js";

const PREVIEW_MS = 350;
let forms = 0;

/**
 * Opens a form. `fields`: `{ name, label, kind?, value?, hint?, options?, required?, rows?, when? }`.
 *
 * - `kind`: `text` (the default), `password`, `number`, `lines` (a list, one per line), `long` (a text of several lines),
 *   `json`, `choice` (of `options`: texts, or `{ value, label }`) or `flag`.
 * - `suggestions`: texts that an input offers.
 * - `when(values)`: returns whether the field is visible for these values.
 * - `submit(values)`: receives the values; an empty field is `undefined`. If it throws, the form stays open and shows the
 *   error at the field that the error's `param` names, or else above the buttons.
 * - `preview(values)`: returns nodes to show below the fields, or below the field `previewAfter`. It runs again after each
 *   pause in typing.
 */
export function openForm(options) {
  const form = new Form(options);
  form.open();
}

class Form {
  constructor({ title, note, fields, submit, save = "Save", preview, previewAfter }) {
    const id = `form-${++forms}`;
    this.title = title;
    this.note = note;
    this.submit = submit;
    /** Numbers the previews, so that a late one does not replace a newer one. */
    this.previewNumber = 0;
    this.previewOf = preview;
    this.fields = fields.map((field) => new Field(`${id}-${field.name}`, field));
    this.problemText = h("p", { class: "problem", role: "alert" });
    this.preview = h("div", { class: "preview", "aria-live": "polite" });
    this.button = h("button", { type: "submit", class: "primary" }, save);
    const cancel = h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel");
    this.element = h(
      "form",
      { onsubmit: (event) => this.send(event), oninput: () => this.update(), novalidate: true },
      this.fields.map(({ name, row }) => (name === previewAfter ? [row, this.preview] : row)),
      previewAfter ? null : this.preview,
      this.problemText,
      h("div", { class: "row end" }, cancel, this.button),
    );
  }

  open() {
    this.update();
    this.dialog = openDialog({
      title: this.title,
      class: "form",
      content: [this.note && h("p", { class: "hint" }, this.note), this.element],
      onClose: () => clearTimeout(this.timer),
    });
  }

  /** Returns the values of the visible fields. Throws if one is missing or malformed. */
  values() {
    const visible = this.fields.filter(({ row }) => !row.hidden);
    return Object.fromEntries(visible.map((field) => [field.name, field.read()]));
  }

  /** Shows the fields that the current values require, and renews the preview. */
  update() {
    const raw = Object.fromEntries(this.fields.map((field) => [field.name, field.text()]));
    for (const field of this.fields) field.row.hidden = field.when ? !field.when(raw) : false;
    if (!this.previewOf) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.showPreview(), PREVIEW_MS);
  }

  async showPreview() {
    this.previewNumber += 1;
    const { previewNumber } = this;
    let content;
    try {
      content = await this.previewOf(this.values());
    } catch (error) {
      content = problem(error.message);
    }
    if (previewNumber === this.previewNumber)
      this.preview.replaceChildren(...[content].flat().filter(Boolean));
  }

  async send(event) {
    event.preventDefault();
    if (this.button.disabled) return;
    this.button.disabled = true;
    this.problemText.textContent = "";
    for (const { row } of this.fields) row.error("");
    try {
      await this.submit(this.values());
      this.dialog.close();
    } catch (error) {
      this.showError(error);
    } finally {
      this.button.disabled = false;
    }
  }

  showError(error) {
    const param = error.field ?? error.details?.param ?? "";
    const path = String(param).split(/[.[]/);
    const field = this.fields.find(({ name, row }) => path.includes(name) && !row.hidden);
    if (!field) {
      this.problemText.textContent = error.message;
      return;
    }
    field.row.error(error.message);
    field.control.focus();
  }
}

/** Creates an error that belongs to one field. */
function fieldError(name, message) {
  return Object.assign(new Error(message), { field: name });
}

class Field {
  constructor(id, field) {
    Object.assign(this, field);
    this.kind = field.kind ?? "text";
    this.control = controlOf(id, this);
    this.row = formRow({
      label: field.label,
      control: this.control,
      hint: field.hint,
      buttons: suggestionsOf(id, field),
    });
    if (this.kind === "flag") this.row.classList.add("flag");
  }

  text() {
    return this.kind === "flag" ? this.control.checked : this.control.value.trim();
  }

  read() {
    const text = this.text();
    if (this.kind === "flag") return text;
    if (text === "") {
      if (this.required) throw fieldError(this.name, `${this.label} is missing.`);
      return undefined;
    }
    return READERS[this.kind]?.(text, this) ?? text;
  }
}

const READERS = {
  number(text, { name, label }) {
    const value = Number(text);
    if (Number.isNaN(value)) throw fieldError(name, `${label} must be a number.`);
    return value;
  },
  lines: (text) =>
    text
      .split(/[\n,]/)
      .map((line) => line.trim())
      .filter((line) => line !== ""),
  json(text, { name, label }) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw fieldError(name, `${label} must be JSON: ${error.message}`);
    }
  },
};

const shownValue = ({ kind, value }) => {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return [value].flat().join("\n");
  if (kind === "json" && typeof value !== "string") return JSON.stringify(value, null, 2);
  return String(value);
};

function controlOf(id, field) {
  const { kind, required, options = [], rows = 3 } = field;
  const common = { id, name: field.name, "aria-required": required ? "true" : null };
  const text = shownValue(field);
  if (kind === "flag") return h("input", { ...common, type: "checkbox", checked: field.value });
  if (kind === "choice")
    return h(
      "select",
      common,
      options.map((each) => optionOf(each, text)),
    );
  if (kind === "long" || kind === "lines" || kind === "json")
    return h("textarea", { ...common, rows, spellcheck: String(kind === "long") }, text);
  return h("input", {
    ...common,
    type: kind === "password" ? "password" : "text",
    inputmode: kind === "number" ? "decimal" : null,
    autocomplete: "off",
    spellcheck: "false",
    value: text,
    placeholder: field.placeholder,
    list: field.suggestions ? `${id}-list` : null,
  });
}

/** Creates the suggestions of an input. The reader may also write something else. */
function suggestionsOf(id, { suggestions }) {
  if (!suggestions) return null;
  const options = suggestions.map((value) => h("option", { value }));
  return h("datalist", { id: `${id}-list` }, options);
}

function optionOf(option, selected) {
  const { value, label } = typeof option === "string" ? { value: option, label: option } : option;
  return h("option", { value, selected: value === selected }, label);
}
