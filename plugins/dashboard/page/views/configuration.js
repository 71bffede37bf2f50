/**
 * The configuration as a form made from its schema. Changes are collected, shown as a difference, and saved together,
 * bound to the version that the form was read at; maps are edited entry by entry.
 */
import { attempt, get } from "../api.js";
import { fill, h, notice, problem } from "../dom.js";
import { nextStart, reviewEdits, reviewRestore } from "../review.js";
import { versionsTable } from "./configuration-changes.js";
import { sectionsOf } from "./configuration-fields.js";

const PATH = "/kernel/config";

/** Edits that are not saved yet, by key: they outlive a look at another page. */
const drafts = new Map();
addEventListener("portico:signed-out", () => drafts.clear());
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});

export const configuration = {
  id: "configuration",
  title: "Configuration",
  async mount(root, signal) {
    const page = new ConfigurationPage(root, signal);
    addEventListener("portico:changed", () => page.load(), { signal });
    await page.load();
  },
};

class ConfigurationPage {
  constructor(root, signal) {
    this.root = root;
    this.signal = signal;
    this.bar = h("div", { class: "save-bar", role: "region", "aria-label": "Changes" });
    this.form = h("div", {});
    this.history = h("section", {});
    this.notices = h("div", {});
    this.search = h("input", {
      type: "search",
      "aria-label": "Filter",
      placeholder: "Filter by key",
      oninput: () => this.filter(),
    });
  }

  /** Reads the configuration again and keeps the drafts. */
  async load() {
    const { value, error } = await attempt(get(PATH));
    if (this.signal.aborted) return;
    if (error) return fill(this.root, h("section", {}, notice(error)));
    this.show(value);
    await this.loadHistory();
  }

  show(config) {
    this.config = config;
    const { root, search, notices, form, history, bar } = this;
    fill(notices, ...noticesOf(config));
    fill(
      form,
      sectionsOf(config, drafts, () => this.showBar()),
    );
    if (!root.contains(form))
      fill(root, h("p", { class: "row" }, search), notices, form, history, bar);
    this.filter();
    this.showBar();
  }

  filter() {
    const wanted = this.search.value.toLowerCase();
    for (const each of this.form.querySelectorAll(".field"))
      each.hidden = !each.dataset.key.toLowerCase().includes(wanted);
    for (const each of this.form.querySelectorAll("details")) {
      each.hidden = !each.querySelector(".field:not([hidden])");
      if (wanted !== "" && !each.hidden) each.open = true;
    }
  }

  /** What is to be done with the changes. */
  showBar() {
    if (drafts.size === 0) return fill(this.bar);
    const wrong = [...drafts.values()].filter(({ error }) => error);
    const count = drafts.size === 1 ? "1 change" : `${drafts.size} changes`;
    fill(
      this.bar,
      h("span", {}, `${count}, not saved yet`),
      button("Review and save", () => this.review(), {
        class: "primary",
        disabled: wrong.length > 0,
      }),
      button("Discard", () => this.discard()),
      problem(wrong[0]?.error),
    );
  }

  discard() {
    drafts.clear();
    this.show(this.config);
  }

  /** What was typed while the changes were being saved stays a draft. */
  async review() {
    const reviewed = new Map(drafts);
    const edits = [...reviewed.values()].map(({ path, value, remove }) =>
      remove ? { path, remove } : { path, value },
    );
    const { version } = this.config;
    const forget = () => {
      for (const [key, draft] of reviewed) if (drafts.get(key) === draft) drafts.delete(key);
    };
    await reviewEdits({ title: "Review changes", edits, version, written: forget });
  }

  restore({ id }) {
    return reviewRestore({ id, version: this.config.version });
  }

  async loadHistory() {
    const { value, error } = await attempt(get(`${PATH}/history`));
    if (this.signal.aborted) return;
    fill(
      this.history,
      h("h2", {}, "History"),
      error ? notice(error) : versionsTable(value.versions, (version) => this.restore(version)),
    );
  }
}

function noticesOf({ problem: wrong, leftOut, awaitingStart }) {
  const lines = [];
  if (wrong) lines.push(problem(`The file on disk is not active: ${wrong.message}`));
  for (const { key, message, line } of leftOut)
    lines.push(problem(`Ignored${line ? ` (line ${line})` : ""}: ${key} ${message}`));
  if (awaitingStart.length > 0) lines.push(h("p", { class: "notice" }, nextStart(awaitingStart)));
  return lines;
}

function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", "data-key": label, ...attributes, onclick }, label);
}
