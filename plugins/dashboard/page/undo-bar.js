/** Offers to undo a change, at the edge of the page. */
import { h, showToast, showError } from "./dom.js";

/** Creates the error for a change that was made in between. `latest` is that change, if the gateway names it. */
function conflictOf({ details: { latest } = {} }) {
  const who = latest ? `${latest.principal} (${latest.via})` : "someone";
  return new Error(
    `Nothing was undone, because ${who} has made another change since. Check the current values, and change them by hand.`,
  );
}

export const closeUndoBar = () => document.querySelector(".undo-bar")?.remove();

/**
 * Shows `content` with a button that runs `undo`. The bar stays until the reader uses or closes it, or opens another page or
 * offer. `label` is the text of the button. `undo` must send the version that the change has written, so that it cannot undo
 * somebody else's later change.
 */
export function offerUndo({ undo, label = "Undo" }, ...content) {
  closeUndoBar();
  const close = () => bar.remove();
  const undoButton = h("button", { type: "button" }, label);
  undoButton.addEventListener("click", async () => {
    // The button is disabled while it works, so that nothing is undone twice.
    undoButton.disabled = true;
    try {
      await undo();
      showToast("Undone");
    } catch (error) {
      showError(error.status === 412 ? conflictOf(error) : error);
    }
    dispatchEvent(new Event("portico:changed"));
    close();
  });
  const bar = h(
    "div",
    { class: "save-bar undo-bar", role: "status" },
    ...content,
    undoButton,
    h("button", { type: "button", onclick: close }, "Close"),
  );
  document.getElementById("main").append(bar);
  addEventListener("hashchange", close, { once: true });
  addEventListener("portico:signed-out", close, { once: true });
}
