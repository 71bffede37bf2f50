/** Feedback on actions: a toast for success, a banner for an error, a dialog for a decision. */
import { h, withCode } from "./elements.js";

const TOAST_MS = 6000;
let timer;

/** Shows a message for a few seconds. Errors go to `showError`, which no toast hides. */
export function showToast(text) {
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
 * Runs `work`, shows the sentence that it returns, and makes the page load its data again. `work` returns false if it did
 * nothing. Resolves to whether it succeeded.
 */
export async function perform(label, work) {
  try {
    const outcome = await work();
    hideError();
    if (outcome !== false) showToast(typeof outcome === "string" ? outcome : `${label}: done`);
    dispatchEvent(new Event("portico:changed"));
    return true;
  } catch (error) {
    showError(error);
    return false;
  }
}

/** Creates a button that passes `work` to `perform`. While it runs, the button is disabled but keeps the focus. */
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
 * Opens a dialog with a heading and returns it. Signing out closes it, and so does another address unless it `stays`.
 * `onClose(returnValue)` runs after it is closed.
 */
export function openDialog({ title, content, stays, onClose = () => {}, ...attributes }) {
  const id = `dialog-${++dialogs}`;
  const heading = h("h2", { id }, title);
  const dialog = h("dialog", { "aria-labelledby": id, ...attributes }, heading, content);
  const close = () => dialog.close();
  const listeners = new AbortController();
  const { signal } = listeners;
  addEventListener("portico:signed-out", close, { signal });
  if (!stays) addEventListener("hashchange", close, { signal });
  dialog.addEventListener("close", () => {
    listeners.abort();
    dialog.remove();
    onClose(dialog.returnValue);
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks for confirmation before something that cannot be undone. Resolves to true if the reader agrees. The focus starts on
 * Cancel. `content` is text or nodes that describe the effect.
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
      onClose: (value) => resolve(value === "confirmed"),
    });
  });
}
