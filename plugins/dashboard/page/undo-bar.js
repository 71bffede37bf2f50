/** Offers to take a change back, at the edge of the page. */
import { h, say, showError } from "./dom.js";

/** `latest` is the change that came in between, where the gateway names it. */
function conflictOf({ details: { latest } = {} }) {
  const who = latest ? `${latest.principal} (${latest.via}) has` : "someone has";
  return new Error(
    `Nothing was undone, because ${who} has changed it since. Check the current value, and change it by hand.`,
  );
}

export const closeUndoBar = () => document.querySelector(".undo-bar")?.remove();

/**
 * Shows what was done, with a button that runs `undo`. Stays until it is used, closed, or another page or offer is
 * opened. `label` is the text of the button, `content` what stands before the buttons. `undo` sends the version that the
 * change has written, so that it takes back nothing that somebody else has done since.
 */
export function offerUndo({ undo, label = "Undo" }, ...content) {
  closeUndoBar();
  const close = () => bar.remove();
  const undoButton = h("button", { type: "button" }, label);
  undoButton.addEventListener("click", async () => {
    // Off while it works, so that nothing is undone twice.
    undoButton.disabled = true;
    try {
      await undo();
      say("Undone");
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
