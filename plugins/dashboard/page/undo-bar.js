/** Offers to take a change back, at the edge of the page. */
import { h, say, showError } from "./dom.js";

export const closeUndoBar = () => document.querySelector(".undo-bar")?.remove();

/**
 * Shows what was done, with a button that runs `undo`. Stays until it is used, closed, or another page or offer is
 * opened. `content`: what stands before the buttons.
 */
export function offerUndo(undo, ...content) {
  closeUndoBar();
  const close = () => bar.remove();
  const undoButton = h("button", { type: "button" }, "Undo");
  undoButton.addEventListener("click", async () => {
    // Off while it works, so that nothing is undone twice.
    undoButton.disabled = true;
    try {
      await undo();
      say("Undone");
      dispatchEvent(new Event("portico:changed"));
    } catch (error) {
      showError(error);
    }
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
