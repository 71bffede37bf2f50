/** Creates elements from values. Text stays text: no function here accepts markup. */
import { whenReleased } from "./press.js";

/** Creates an element: `h("button", { onclick, class: "x" }, "text", [nodes])`. It leaves out null, false and undefined. */
export function h(tag, attributes = {}, ...children) {
  return setUp(document.createElement(tag), attributes, children);
}

/** Creates an SVG element, as `h` does. */
export function svg(tag, attributes = {}, ...children) {
  return setUp(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Returns the text with the parts in backticks as code elements. An unpaired backtick stays. */
export const withCode = (text) =>
  text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));

const isPresent = (value) => value !== undefined && value !== null && value !== false;

function setUp(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (!isPresent(value)) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(4).filter(isPresent));
  return element;
}

/**
 * Replaces the content of `root`. Elements with the same `data-key` keep the focus, the selected text of an input, and
 * whether a `details` is open. If the focused element is gone, the focus moves to the page's content, so that keyboard
 * users need not start at the top again. While the visitor presses something in `root`, the old content stays.
 */
export function fill(root, ...nodes) {
  whenReleased(root, () => replaceContent(root, nodes));
}

function replaceContent(root, nodes) {
  const focus = focusWithin(root);
  const open = new Map(
    [...root.querySelectorAll("details[data-key]")].map((each) => [each.dataset.key, each.open]),
  );
  root.replaceChildren(...nodes.flat(4).filter(isPresent));
  for (const each of root.querySelectorAll("details[data-key]"))
    each.open = open.get(each.dataset.key) ?? each.open;
  if (focus !== undefined) restoreFocus(root, focus);
}

function focusWithin(root) {
  const element = document.activeElement;
  if (!root.contains(element) || element.dataset.key === undefined) return undefined;
  const { selectionStart, selectionEnd } = element;
  return { key: element.dataset.key, selectionStart, selectionEnd };
}

function restoreFocus(root, { key, selectionStart, selectionEnd }) {
  const successor = root.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const element = successor ?? document.getElementById("main");
  element.focus({ preventScroll: true });
  if (successor && typeof selectionStart === "number")
    successor.setSelectionRange(selectionStart, selectionEnd);
}
