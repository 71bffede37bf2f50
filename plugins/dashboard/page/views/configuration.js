/**
 * The configuration as a form made from its schema. Changes are collected, shown as a difference, and saved together,
 * bound to the version that the form was read at; maps are edited entry by entry.
 */
import { attempt, change, get } from "../api.js";
import { h, notice, problem, say } from "../dom.js";
import { differences, versionsTable } from "./configuration-changes.js";
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
  async mount(root, left) {
    const page = new ConfigurationPage(root, left);
    await page.load();
  },
};

class ConfigurationPage {
  constructor(root, left) {
    this.root = root;
    this.left = left;
    this.bar = h("div", { class: "save-bar", role: "region", "aria-label": "Changes" });
    this.dialog = h("dialog", { "aria-label": "Review changes" });
    this.form = h("div", {});
    this.history = h("section", {});
    this.notices = h("div", {});
    this.versions = [];
  }

  async load() {
    const { value, error } = await attempt(get(PATH));
    if (this.left.aborted) return;
    if (error) return this.root.replaceChildren(notice(error));
    this.show(value);
    await this.loadHistory();
  }

  show(config) {
    this.config = config;
    const search = h("input", {
      type: "search",
      "aria-label": "Filter",
      placeholder: "Filter",
      oninput: () => this.filter(search.value),
    });
    this.notices.replaceChildren(...noticesOf(config));
    this.form.replaceChildren(...sectionsOf(config, drafts, () => this.showBar()));
    this.root.replaceChildren(
      h("h2", {}, "Configuration"),
      this.notices,
      h("p", {}, search),
      this.form,
      this.history,
      this.bar,
      this.dialog,
    );
    this.showBar();
  }

  filter(text) {
    const wanted = text.toLowerCase();
    for (const each of this.form.querySelectorAll(".field"))
      each.hidden = !each.dataset.key.toLowerCase().includes(wanted);
    for (const each of this.form.querySelectorAll("details")) {
      each.hidden = !each.querySelector(".field:not([hidden])");
      if (wanted !== "" && !each.hidden) each.open = true;
    }
  }

  /** What is to be done with the changes; after a save, how to take it back. */
  showBar(saved) {
    if (saved) return this.bar.replaceChildren(...saved);
    if (drafts.size === 0) return this.bar.replaceChildren();
    const wrong = [...drafts.values()].filter(({ error }) => error);
    const count = drafts.size === 1 ? "1 change" : `${drafts.size} changes`;
    this.bar.replaceChildren(
      h("span", {}, `${count}, not saved yet`),
      button("Review and save", () => this.review(), {
        class: "primary",
        disabled: wrong.length > 0,
      }),
      button("Discard", () => this.discard()),
      problem(wrong[0]?.error) ?? "",
    );
  }

  discard() {
    drafts.clear();
    this.show(this.config);
  }

  edits() {
    return [...drafts.values()].map(({ path, value, remove }) =>
      remove ? { path, remove } : { path, value },
    );
  }

  /** Shows what the gateway says the changes would do, before anything is written. */
  async review() {
    const edits = this.edits();
    const previous = this.currentId();
    await this.confirm("Review changes", "PATCH", PATH, { edits }, async (written) => {
      drafts.clear();
      await this.reload();
      this.showBar(this.undoBar(written, previous));
    });
  }

  undoBar(written, previous) {
    const count = written.changes.length === 1 ? "1 change" : `${written.changes.length} changes`;
    return [
      h("span", {}, `Saved ${count}.${nextStart(written.atNextStart)}`),
      button("Undo", () => this.undo(written.version, previous)),
      button("Close", () => this.showBar()),
    ];
  }

  async undo(version, to) {
    try {
      await change("POST", `${PATH}/undo`, { to }, version);
      await this.reload();
      say("Undone");
    } catch (error) {
      say(error.message, true);
    }
  }

  /** Of the version that the form shows, among those that are kept. */
  currentId() {
    return this.versions.find(({ version }) => version === this.config.version)?.id;
  }

  async restore(version) {
    const previous = this.currentId();
    await this.confirm(
      `Restore version ${version.id}`,
      "POST",
      `${PATH}/undo`,
      { to: version.id },
      async (written) => {
        await this.reload();
        this.showBar(this.undoBar(written, previous));
      },
    );
  }

  async confirm(title, method, path, body, done) {
    const close = button("Cancel", () => this.dialog.close());
    const save = button(
      "Save",
      async () => {
        try {
          const written = await change(method, path, body, this.config.version);
          this.dialog.close();
          this.dialog.replaceChildren();
          await done(written);
        } catch (error) {
          refuse(error);
        }
      },
      { class: "primary" },
    );
    const show = (...content) => this.dialog.replaceChildren(h("h2", {}, title), ...content);
    const refuse = (error) => {
      if (error.status === 412) return show(...this.conflict(error, () => again()));
      show(problem(error.message), h("div", { class: "row" }, close));
    };
    const again = async () => {
      await this.reload();
      await preview();
    };
    const preview = async () => {
      try {
        const planned = await change(method, `${path}?dryRun=true`, body, this.config.version);
        const hint = nextStart(planned.atNextStart).trim();
        show(
          differences(planned.changes),
          hint && h("p", { class: "notice" }, hint),
          h("div", { class: "row" }, save, close),
        );
      } catch (error) {
        refuse(error);
      }
    };
    await preview();
    if (!this.dialog.open) this.dialog.showModal();
  }

  /** Somebody else saved first: what they changed is shown, and one's own changes are kept. */
  conflict({ details, message }, again) {
    const { latest, changes } = details;
    const who = latest
      ? `Changed meanwhile by ${latest.principal} (${latest.via}), ${new Date(latest.at).toLocaleString()}:`
      : message;
    return [
      h("p", { class: "notice bad" }, who),
      changes ? differences(changes) : h("p", {}, "What changed is not known any more."),
      h("p", {}, "Nothing was saved. Your own changes are kept."),
      h(
        "div",
        { class: "row" },
        button("Review my changes on top of it", again, { class: "primary" }),
        button("Cancel", () => this.dialog.close()),
      ),
    ];
  }

  async reload() {
    const config = await get(PATH);
    if (this.left.aborted) return;
    this.show(config);
    await this.loadHistory();
  }

  async loadHistory() {
    const { value, error } = await attempt(get(`${PATH}/history`));
    if (this.left.aborted) return;
    this.versions = value?.versions ?? [];
    this.history.replaceChildren(
      h("h2", {}, "History"),
      error ? notice(error) : versionsTable(value.versions, (version) => this.restore(version)),
    );
  }
}

function noticesOf({ problem: wrong, leftOut, awaitingStart }) {
  const lines = [];
  if (wrong) lines.push(problem(`The file on disk is not active: ${wrong.message}`));
  for (const { key, message, line } of leftOut)
    lines.push(problem(`Left out${line ? ` (line ${line})` : ""}: ${key} ${message}`));
  if (awaitingStart.length > 0)
    lines.push(h("p", { class: "notice" }, nextStart(awaitingStart).trim()));
  return lines;
}

function nextStart(keys) {
  if (keys.length === 0) return "";
  return ` ${keys.join(", ")} ${keys.length === 1 ? "takes" : "take"} effect at the next start.`;
}

/** Off while it works, so that nothing is done twice. */
function button(label, work, attributes = {}) {
  const onclick = async ({ currentTarget }) => {
    currentTarget.disabled = true;
    try {
      await work();
    } finally {
      currentTarget.disabled = false;
    }
  };
  return h("button", { type: "button", ...attributes, onclick }, label);
}
