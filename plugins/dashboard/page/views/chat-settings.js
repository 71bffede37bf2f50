/** The system prompt and the parameters of a chat. */
import { formRow, h } from "../dom.js";

const NUMBERS = [
  ["temperature", "Temperature"],
  ["top_p", "Top p"],
  ["max_tokens", "Maximum tokens per response"],
  ["seed", "Seed"],
];

export class ChatSettings {
  /** `values` holds the current settings; the form updates it. */
  constructor(values) {
    this.values = values;
    this.rows = new Map();
    this.element = h(
      "details",
      { class: "try-box", open: Object.keys(values).length > 0 },
      h("summary", {}, "System prompt and parameters"),
      this.row("system", "System prompt", h("textarea", { rows: "3" }, values.system ?? "")),
      h(
        "div",
        { class: "filters" },
        NUMBERS.map(([name, label]) => this.numberRow(name, label)),
      ),
      this.row("reasoning_effort", "Reasoning effort", this.effort()),
      this.row(
        "more",
        "Further parameters, as JSON",
        h("textarea", { rows: "2", spellcheck: "false" }, values.more ?? ""),
      ),
    );
  }

  row(name, label, control) {
    control.id = `chat-${name}`;
    control.addEventListener("input", () => {
      this.values[name] = control.value;
    });
    const row = formRow({ label, control });
    this.rows.set(name, { row, control });
    return row;
  }

  numberRow(name, label) {
    const value = this.values[name] ?? "";
    return this.row(name, label, h("input", { inputmode: "decimal", autocomplete: "off", value }));
  }

  effort() {
    const effort = this.values.reasoning_effort ?? "";
    const options = ["", "minimal", "low", "medium", "high"].map((value) =>
      h("option", { value, selected: value === effort }, value || "provider's default"),
    );
    return h("select", {}, options);
  }

  /** Returns `{ system, parameters }`; undefined, with an error at the field, if a value is malformed. */
  read() {
    for (const { row } of this.rows.values()) row.error("");
    const parameters = {};
    for (const [name] of NUMBERS) {
      const text = this.textOf(name);
      if (text === "") continue;
      const value = Number(text);
      if (Number.isNaN(value)) return this.refuse(name, "This must be a number.");
      parameters[name] = value;
    }
    const effort = this.textOf("reasoning_effort");
    if (effort !== "") parameters.reasoning_effort = effort;
    const more = this.readMore();
    if (more === undefined) return undefined;
    const system = this.textOf("system");
    return {
      parameters: { ...parameters, ...more },
      system: system === "" ? [] : [{ role: "system", content: system }],
    };
  }

  textOf(name) {
    return this.rows.get(name).control.value.trim();
  }

  readMore() {
    const text = this.textOf("more");
    if (text === "") return {};
    try {
      const value = JSON.parse(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
      return this.refuse("more", 'This must be a JSON object, such as {"top_k": 5}.');
    } catch (error) {
      return this.refuse("more", `This must be JSON: ${error.message}`);
    }
  }

  refuse(name, text) {
    const { row, control } = this.rows.get(name);
    this.element.open = true;
    row.error(text);
    control.focus();
    return undefined;
  }
}
