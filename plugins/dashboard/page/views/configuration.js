/**
 * The page of the configuration: a form generated from its schema. It collects changes, shows them as a difference, and
 * saves them together at the version that it has read; maps are edited entry by entry. A section is collapsed until the
 * reader opens it, or until an address, a search or a problem names one of its settings.
 */
import { attempt, get } from "../api.js";
import { fill, h, href, notice, problem } from "../dom.js";
import { nextStart, reviewEdits, reviewRestore } from "../review.js";
import { versionsTable } from "./configuration-changes.js";
import { sectionNames, sectionsOf } from "./configuration-fields.js";
import { isSectionOpen, rememberSection } from "./configuration-sections.js";

const PATH = "/kernel/config";
/** The name of the part with the versions in the list. */
const HISTORY = "history";

/** Edits that are not saved yet, by key. They survive a change of the page. */
const drafts = new Map();
addEventListener("portico:signed-out", () => drafts.clear());
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});

/** `#/configuration/log.level` opens the section `log` at its setting `level`. */
export const configuration = {
  id: "configuration",
  title: "Configuration",
  async mount(root, signal, key) {
    const page = new ConfigurationPage(root, signal);
    addEventListener("portico:changed", () => page.load(), { signal });
    await page.load();
    if (key !== undefined) page.reveal(key);
  },
};

/** Returns true if a key is that of a section, a group or an entry, or is within it. */
const isWithin = (key, setting) =>
  key === setting || (key.startsWith(setting) && /^[.[]/.test(key.slice(setting.length)));

class ConfigurationPage {
  constructor(root, signal) {
    this.root = root;
    this.signal = signal;
    this.bar = h("div", { class: "save-bar", role: "region", "aria-label": "Changes" });
    this.form = h("div", { onclick: (event) => this.rememberOpen(event) });
    this.history = h("section", { "data-setting": HISTORY });
    this.notices = h("div", {});
    this.hits = h("p", { class: "muted small", role: "status" });
    this.list = h("ul", {});
    const oninput = () => this.filter();
    this.search = h("input", {
      type: "search",
      "aria-label": "Filter",
      placeholder: "Search settings",
      oninput,
    });
    this.onlyWritten = h("input", { type: "checkbox", onchange: oninput });
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
    fill(this.notices, ...noticesOf(config));
    fill(
      this.form,
      sectionsOf(config, {
        drafts,
        onChange: () => this.showChanges(),
        isOpen: (name) => isSectionOpen(name) || this.needsAttention(name),
      }),
    );
    fill(
      this.list,
      [...sectionNames(config), HISTORY].map((name) => this.listItem(name)),
    );
    if (!this.root.contains(this.form)) fill(this.root, this.layout());
    this.filter();
    this.showChanges();
  }

  layout() {
    return h(
      "div",
      { class: "settings" },
      h(
        "div",
        { class: "settings-list" },
        this.search,
        h("label", { class: "small" }, this.onlyWritten, " Only settings that the file sets"),
        this.hits,
        h("nav", { "aria-label": "Sections" }, this.list),
      ),
      h("div", {}, this.notices, this.form, this.history, this.bar),
    );
  }

  listItem(name) {
    const onclick = (event) => {
      event.preventDefault();
      // This adds no entry to the browser's history, and does not draw the page again.
      history.replaceState(null, "", href("configuration", name));
      rememberSection(name, true);
      this.reveal(name);
    };
    const isWritten = Object.hasOwn(this.config.written, name);
    return h(
      "li",
      { "data-section": name },
      h("a", { href: href("configuration", name), "data-key": `list-${name}`, onclick }, name),
      isWritten &&
        h(
          "span",
          { class: "muted small", title: "The configuration file contains this section" },
          " in the file",
        ),
      h("span", { class: "count" }),
    );
  }

  /** Returns true for a section with an unsaved change, or with a setting that is wrong in the file. */
  needsAttention(name) {
    const { problem: fault, leftOut } = this.config;
    const isIgnored = leftOut.some(({ key }) => isWithin(key, name));
    // The message about the file names the key within a sentence.
    const words = fault?.message.split(/[\s:;,]+/) ?? [];
    const isWrong = words.some((word) => isWithin(word, name) && word !== name);
    return isIgnored || isWrong || [...drafts.values()].some(({ path }) => path[0] === name);
  }

  /** Remembers that the reader opens or closes a section. Its state changes only after this event. */
  rememberOpen({ target }) {
    const section = target.closest("summary")?.parentElement;
    if (section?.matches(".config-section"))
      rememberSection(section.dataset.setting, !section.open);
  }

  /** Opens everything that contains a setting, an entry or a section, and moves the focus to it. */
  reveal(key) {
    const element = this.elementOf(key);
    if (element === undefined) return;
    for (let each = element.closest("details"); each; each = each.parentElement.closest("details"))
      each.open = true;
    const control = element.matches(".field") ? "input, select, textarea" : "summary";
    element.scrollIntoView({ block: "start" });
    element.querySelector(control)?.focus({ preventScroll: true });
  }

  /** Returns the element of a key, or else that of the entry, group or section that contains it. */
  elementOf(key) {
    return [...this.root.querySelectorAll("[data-setting]:not(.adder)")]
      .filter(({ dataset: { setting } }) => isWithin(key, setting))
      .sort((a, b) => b.dataset.setting.length - a.dataset.setting.length)[0];
  }

  /** Hides settings that do not match, and opens the sections of those that do. Without a filter, sections are as before. */
  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isFiltered = words.length > 0 || this.onlyWritten.checked;
    const items = [...this.form.querySelectorAll(".field, .adder")];
    for (const item of items) item.hidden = isFiltered && !this.isHit(item, words);
    for (const each of this.form.querySelectorAll("details, .setting-group")) {
      each.hidden = isFiltered && !each.querySelector(":is(.field, .adder):not([hidden])");
      if (each.matches("details") && isFiltered) each.open = !each.hidden;
    }
    if (!isFiltered && this.isFiltered)
      for (const each of this.form.querySelectorAll(".config-section")) {
        const name = each.dataset.setting;
        each.open = isSectionOpen(name) || this.needsAttention(name);
      }
    this.isFiltered = isFiltered;
    this.history.hidden = isFiltered;
    this.showHits(items.filter(({ hidden }) => !hidden).length);
  }

  isHit(item, words) {
    if (this.onlyWritten.checked && item.dataset.written === undefined) return false;
    const description = item.matches(".field") ? item.firstElementChild.textContent : "";
    const text = `${item.dataset.setting} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  showHits(count) {
    for (const item of this.list.children) {
      const section = this.elementOf(item.dataset.section);
      item.hidden = section === undefined || section.hidden;
    }
    const noun = count === 1 ? "setting matches" : "settings match";
    this.hits.textContent = this.isFiltered ? `${count === 0 ? "No" : count} ${noun}.` : "";
  }

  /** Shows the buttons for unsaved changes, and the number of changes of each section. */
  showChanges() {
    for (const item of this.list.children) {
      const { section } = item.dataset;
      const changes = [...drafts.values()].filter(({ path }) => path[0] === section).length;
      item.querySelector(".count").textContent = changes === 0 ? "" : ` ${changes} changed`;
    }
    if (drafts.size === 0) return fill(this.bar);
    const invalid = [...drafts.values()].filter(({ error }) => error);
    const count = drafts.size === 1 ? "1 change" : `${drafts.size} changes`;
    fill(
      this.bar,
      h("span", {}, `${count} not saved yet`),
      button("Review and save", () => this.review(), {
        class: "primary",
        disabled: invalid.length > 0,
      }),
      button("Discard", () => this.discard()),
      problem(invalid[0]?.error),
    );
  }

  discard() {
    drafts.clear();
    this.show(this.config);
  }

  /** Reviews and saves the drafts. A draft that the reader changes meanwhile stays. */
  async review() {
    const reviewed = new Map(drafts);
    const edits = [...reviewed.values()].map(({ path, value, remove }) =>
      remove ? { path, remove } : { path, value },
    );
    const { version } = this.config;
    const removeReviewed = () => {
      for (const [key, draft] of reviewed) if (drafts.get(key) === draft) drafts.delete(key);
    };
    await reviewEdits({ title: "Review changes", edits, version, onWritten: removeReviewed });
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

function noticesOf({ problem: fault, leftOut, awaitingStart }) {
  const lines = [];
  if (fault) lines.push(problem(`The configuration file on disk is not active: ${fault.message}`));
  for (const { key, message, line } of leftOut)
    lines.push(
      h(
        "p",
        { class: "problem" },
        `Ignored${line ? ` (line ${line})` : ""}: `,
        h("a", { href: href("configuration", key) }, key),
        ` ${message}`,
      ),
    );
  if (awaitingStart.length > 0) lines.push(h("p", { class: "notice" }, nextStart(awaitingStart)));
  return lines;
}

function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", "data-key": label, ...attributes, onclick }, label);
}
