/** What the page says about an action: a toast for success, a banner for an error, a dialog for a decision. */
import { h, withCode } from "./elements.js";

const TOAST_MS = 6000;
let timer;

/** Shows a message for a few seconds. Errors go to `showError`, which no toast hides. */
export function say(text) {
  const toast = document.getElementById("toast");
  toast.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    toast.textContent = "";
  }, TOAST_MS);
}

/** Shows an error above the page until the reader closes it or opens another page. */
export function showError(error) {
  const banner = document.getElementById("error");
  const close = h("button", { type: "button", onclick: hideError }, "Close");
  banner.replaceChildren(
    h("p", { class: "error-text" }, withCode(error.message ?? String(error))),
    close,
  );
}

export function hideError() {
  document.getElementById("error").replaceChildren();
}

/**
 * Runs `work`, says what it returns, and lets the page read its data again. `work` returns a sentence, or false where
 * nothing was done. Returns whether it succeeded.
 */
export async function perform(label, work) {
  try {
    const outcome = await work();
    hideError();
    if (outcome !== false) say(typeof outcome === "string" ? outcome : `${label}: done`);
    dispatchEvent(new Event("portico:changed"));
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** A button for something slow. It is off while it works, but keeps the focus. `work` is that of `perform`. */
export function action(label, key, work, attributes = {}) {
  const onclick = async ({ currentTarget: button }) => {
    if (button.ariaDisabled) return;
    button.ariaDisabled = "true";
    await perform(label, work);
    button.ariaDisabled = null;
  };
  return h("button", { type: "button", "data-key": key, ...attributes, onclick }, label);
}

let dialogs = 0;

/**
 * Opens a dialog below its heading and returns it. Signing out closes it, and so does another address unless it `stays`.
 * `closed(returnValue)` runs once it is closed.
 */
export function openDialog({ title, content, stays, closed = () => {}, ...attributes }) {
  const id = `dialog-${++dialogs}`;
  const heading = h("h2", { id }, title);
  const dialog = h("dialog", { "aria-labelledby": id, ...attributes }, heading, content);
  const withdraw = () => dialog.close();
  const listening = new AbortController();
  const { signal } = listening;
  addEventListener("portico:signed-out", withdraw, { signal });
  if (!stays) addEventListener("hashchange", withdraw, { signal });
  dialog.addEventListener("close", () => {
    listening.abort();
    dialog.remove();
    closed(dialog.returnValue);
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks before something that cannot be undone. Resolves to true where the reader agrees. The focus starts on Cancel.
 * `content` is text or nodes: what happens, to whom.
 */
export function confirmDialog({ title, content, confirm }) {
  return new Promise((resolve) => {
    const button = (label, value, attributes) =>
      h("button", { type: "button", ...attributes, onclick: () => dialog.close(value) }, label);
    const dialog = openDialog({
      title,
      class: "confirm",
      content: [
        typeof content === "string" ? h("p", {}, content) : content,
        h(
          "div",
          { class: "row end" },
          button("Cancel", "", { autofocus: true }),
          button(confirm, "confirmed", { class: "danger" }),
        ),
      ],
      closed: (value) => resolve(value === "confirmed"),
    });
  });
}
