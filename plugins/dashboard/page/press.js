/**
 * Tracks the element that a visitor presses, with the main button of a mouse, a finger, or the space bar.
 *
 * The browser dispatches a click only if the press ends on the element on which it began. If a page replaced that element in
 * between, because an event arrived or a round of polling ended, the click would be lost silently.
 */

/** The element that the visitor presses now. */
let pressed;
/** The latest work for each root, which waits until the visitor releases the element. */
const waiting = new Map();

/** Runs `work`, which replaces the content of `root`, now or as soon as the visitor no longer presses anything in it. */
export function whenReleased(root, work) {
  if (pressed !== undefined && root.contains(pressed)) {
    waiting.set(root, work);
    return;
  }
  waiting.delete(root);
  work();
}

function press(element) {
  pressed = element;
}

function release() {
  if (pressed === undefined) return;
  pressed = undefined;
  // The browser dispatches the click after this event and before the next task.
  setTimeout(runWaiting);
}

function runWaiting() {
  for (const [root, work] of [...waiting]) whenReleased(root, work);
}

const onPage = { capture: true, passive: true };
addEventListener("pointerdown", (event) => event.button === 0 && press(event.target), onPage);
addEventListener("pointerup", release, onPage);
addEventListener("pointercancel", release, onPage);
// A release over the open list of a `select`, or outside the window, reaches the page only as a later movement.
addEventListener("pointermove", (event) => event.buttons === 0 && release(), onPage);
addEventListener("keydown", ({ key, target }) => key === " " && press(target), onPage);
addEventListener("keyup", release, onPage);
addEventListener("blur", ({ target }) => target === window && release(), onPage);
