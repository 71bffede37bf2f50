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

/**
 * Asks before something that cannot be undone. Resolves to true where the reader agrees. The focus starts on Cancel.
 * `content` is text or nodes: what happens, to whom.
 */
export function confirmDialog({ title, content, confirm }) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "confirm-title", class: "confirm" },
      h("h2", { id: "confirm-title" }, title),
      typeof content === "string" ? h("p", {}, content) : content,
      h(
        "div",
        { class: "row end" },
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"),
        h("button", { type: "button", class: "danger", onclick: () => agree() }, confirm),
      ),
    );
    const agree = () => dialog.close("confirmed");
    const withdraw = () => dialog.close();
    dialog.addEventListener("close", () => {
      removeEventListener("hashchange", withdraw);
      dialog.remove();
      resolve(dialog.returnValue === "confirmed");
    });
    addEventListener("hashchange", withdraw);
    document.body.append(dialog);
    dialog.showModal();
  });
}
