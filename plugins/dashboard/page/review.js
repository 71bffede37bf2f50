/**
 * Writes the configuration from a page. It shows the changes first, writes only if the configuration is still at the version
 * that the page has read, and offers to undo the change.
 */
import { change, get } from "./api.js";
import { h, openDialog, problem, showToast } from "./dom.js";
import { closeUndoBar, offerUndo } from "./undo-bar.js";
import { differences } from "./views/configuration-changes.js";

const PATH = "/kernel/config";

/**
 * Shows what `edits` would change in the configuration at `version`, and writes them if the reader agrees. Edits are
 * `{ path, value }` or `{ path, remove: true }`. After the write, it runs `onWritten` before pages load the configuration
 * again. Resolves to whether the edits were written.
 */
export const reviewEdits = ({ title, edits, version, onWritten }) =>
  review(title, { method: "PATCH", path: PATH, body: { edits } }, version, onWritten);

/** Reviews the return to an earlier version, by its number. */
export const reviewRestore = ({ id, version }) =>
  review(
    `Restore version ${id}`,
    { method: "POST", path: `${PATH}/undo`, body: { to: id } },
    version,
  );

function review(title, change, version, onWritten = () => {}) {
  closeUndoBar();
  return new Promise((resolve) => new Review(change, version, onWritten).open(title, resolve));
}

class Review {
  constructor(change, version, onWritten) {
    this.change = change;
    this.onWritten = onWritten;
    this.version = version;
    this.isWritten = false;
    this.content = h("div", {}, h("p", { class: "empty" }, "Reading …"));
  }

  open(title, resolve) {
    const { content } = this;
    this.dialog = openDialog({ title, content, onClose: () => resolve(this.isWritten) });
    void this.preview();
  }

  show(...content) {
    this.content.replaceChildren(...content.filter(Boolean));
  }

  async preview() {
    try {
      const planned = await this.send("?dryRun=true");
      const save = button("Save", () => this.write(), { class: "primary" });
      this.show(
        differences(planned.changes),
        startNotice(planned.atNextStart),
        h("div", { class: "row end" }, this.cancel(), save),
      );
      save.focus();
    } catch (error) {
      this.refuse(error);
    }
  }

  async write() {
    try {
      const saved = await this.send("");
      this.isWritten = true;
      this.onWritten();
      this.dialog.close();
      offerUndoOf(this.version, saved);
      dispatchEvent(new Event("portico:changed"));
    } catch (error) {
      this.refuse(error);
    }
  }

  send(query) {
    const { method, path, body } = this.change;
    return change(method, `${path}${query}`, body, this.version);
  }

  cancel() {
    return button("Cancel", () => this.dialog.close());
  }

  refuse(error) {
    if (error.status === 412) return this.showConflict(error);
    this.show(problem(error.message), h("div", { class: "row end" }, this.cancel()));
  }

  /** Shows the change that somebody else saved first, and offers to review this change on top of it. */
  showConflict({ details, message }) {
    const { latest, changes } = details;
    const heading = latest
      ? `${latest.principal} (${latest.via}) saved these changes first, ${new Date(latest.at).toLocaleString()}:`
      : message;
    const reviewAgain = async () => {
      ({ version: this.version } = await get(PATH));
      await this.preview();
    };
    this.show(
      h("p", { class: "notice bad" }, heading),
      changes ? differences(changes) : null,
      h("p", {}, "Nothing was saved. You still have your own changes."),
      h(
        "div",
        { class: "row end" },
        this.cancel(),
        button("Review my changes on top of these", reviewAgain, { class: "primary" }),
      ),
    );
  }
}

/** Says that these keys take effect at the next start of the gateway. */
export const nextStart = (keys) =>
  `${keys.join(", ")} ${keys.length === 1 ? "takes" : "take"} effect at the next start of the gateway.`;

const startNotice = (keys = []) =>
  keys.length === 0 ? null : h("p", { class: "notice" }, nextStart(keys));

/** Writes edits that need no review, such as a switch, and offers to undo them. `message` describes the change. */
export async function writeEdits({ edits, version, message }) {
  offerUndoOf(version, await change("PATCH", PATH, { edits }, version), message);
}

/** Switches a part of the configuration on or off. `path` leads to its setting `enabled`. */
export async function writeSwitch(path, name, isOn) {
  const { version } = await readConfig();
  const message = `${name} is ${isOn ? "enabled" : "disabled"}.`;
  await writeEdits({ edits: [{ path, value: isOn }], version, message });
}

/**
 * Offers to undo a write. The undo names the version that it restores, since the version before the latest one may contain
 * somebody else's change. If nothing was written, there is nothing to undo.
 */
function offerUndoOf(before, { changes, version, atNextStart }, message) {
  const keys = changes.map(({ key }) => key).join(", ") || "no values changed";
  const text = message ?? `Saved: ${keys}.`;
  if (version === before) return showToast(text);
  const undo = async () => {
    const { versions } = await get(`${PATH}/history`);
    const to = versions.find((each) => each.version === before)?.id;
    await change("POST", `${PATH}/undo`, { to }, version);
  };
  offerUndo({ undo }, h("span", {}, text), startNotice(atNextStart));
}

/** Creates a button that is disabled while its work runs, so that the work does not run twice. */
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

/** Reads the configuration, its text form in the file, and its version, for a form that opens. */
export async function readConfig() {
  const { version, written, value } = await get(PATH);
  return { version, written, value };
}

/** Returns the edits that change the members of an object; `undefined` removes a member. */
export function memberEdits(path, before, after) {
  return Object.entries(after)
    .filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
    .map(([name, value]) =>
      value === undefined
        ? { path: [...path, name], remove: true }
        : { path: [...path, name], value },
    );
}
