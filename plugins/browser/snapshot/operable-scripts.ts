/**
 * Scripts that run inside pages, so that the library lists elements that can be operated although their role does not
 * show it. They are made with `new Function`; `page-scripts.ts` explains why.
 */

/** A link of an image map, with the position of its middle on the page. */
interface Area {
  name: string;
  url: string;
  x: number;
  y: number;
}

export interface MarkResult {
  /** True if an open dialog blocks the rest of the page. */
  modal: boolean;
  areas: Area[];
}

/** A selector of elements that the library lists anyway. */
const LISTED_ELEMENTS = `:is(html, body, a[href], button, input, select, textarea, option, label, iframe)`;
/** The maximum number of descendants: an element with more listens for events of its content. */
const MAX_DESCENDANTS = 100;
/** The temporary size of text areas that a page hides behind its own editor, since the library skips empty elements. */
const MIN_SIZE = "1px";

/**
 * `animate` changes the style that the library sees without changing the document. `point` marks a clickable element by
 * a pointer cursor; `delegate` removes the mark from an element that listens for its whole content. They may be called
 * in either order.
 */
const MARKS_SCRIPT = `
  const marks = (window.porticoMarks = window.porticoMarks || { undo: [], pointers: new Map(), delegates: new WeakSet() });
  const animate = (element, property, value) => {
    const animation = element.animate({ [property]: [value, value] }, { duration: 1e9, fill: "both" });
    marks.undo.push(() => animation.cancel());
    return animation;
  };
  const setAttribute = (element, name, value) => {
    const previous = element.getAttribute(name);
    element.setAttribute(name, value);
    marks.undo.push(() => previous === null ? element.removeAttribute(name) : element.setAttribute(name, previous));
  };
  // The library treats such an element as a part of the text around it.
  const isBareText = (element) =>
    element.childNodes.length === 1 && element.firstChild.nodeType === 3 && getComputedStyle(element).display === "inline";
  const point = (element) => {
    if (element.matches("${LISTED_ELEMENTS}") || element.hasAttribute("role")) return;
    if (marks.pointers.has(element) || marks.delegates.has(element)) return;
    if (element.getElementsByTagName("*").length > ${MAX_DESCENDANTS}) return;
    marks.pointers.set(element, animate(element, "cursor", "pointer"));
    if (isBareText(element)) setAttribute(element, "role", "button");
  };
  const delegate = (element) => {
    marks.delegates.add(element);
    const pointer = marks.pointers.get(element);
    if (pointer) pointer.cancel();
  };
`;

const listenerScript = (action: string): string =>
  `function () { if (this.nodeType !== 1 || !this.isConnected) return; const element = this; ${MARKS_SCRIPT} ${action}(element); }`;

/** Marks an element that listens for clicks. The script is called on the element. */
export const MARK_LISTENER = listenerScript("point");

/**
 * Marks an element that listens for all others, such as the root of a framework. The script is called on the element.
 */
export const MARK_DELEGATE = listenerScript("delegate");

const MARK_SCRIPT = `
  ${MARKS_SCRIPT}
  const isEditable = (element) =>
    element.isContentEditable && element.hasAttribute("contenteditable") && !(element.parentElement && element.parentElement.isContentEditable);
  const hintOf = (element) =>
    element.getAttribute("aria-placeholder") || element.getAttribute("data-placeholder") || element.getAttribute("placeholder");
  const markEditable = (element) => {
    const isNamed = element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
    // The library omits text that is directly in a textbox.
    const hasText = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (hasText && isNamed) return point(element);
    if (/^(none|presentation)?$/.test(element.getAttribute("role") || "")) setAttribute(element, "role", "textbox");
    const name = hasText ? element.innerText.slice(0, 200) : hintOf(element);
    if (!isNamed && name) setAttribute(element, "aria-label", name);
  };
  const markCanvas = (element) => {
    point(element);
    if (!element.hasAttribute("role")) setAttribute(element, "role", "img");
    if (!element.hasAttribute("aria-label")) setAttribute(element, "aria-label", "canvas");
  };
  const isOperable = (element) =>
    element.tagName === "SUMMARY" || element.draggable && element.hasAttribute("draggable") ||
    element.tabIndex >= 0 && element.hasAttribute("tabindex") || element.onclick || element.onmousedown || element.onpointerdown;
  const takesKeys = (element) => element.editContext || element.tagName === "TEXTAREA" && !element.readOnly;
  const showEmpty = (element) => {
    const { width, height } = element.getBoundingClientRect();
    if (width === 0) animate(element, "minWidth", "${MIN_SIZE}");
    if (height === 0) animate(element, "minHeight", "${MIN_SIZE}");
  };
  const roots = [document];
  for (let i = 0; i < roots.length; i++) {
    for (const element of roots[i].querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      if (isEditable(element)) markEditable(element);
      else if (element.tagName === "CANVAS") markCanvas(element);
      else if (isOperable(element)) point(element);
      if (takesKeys(element)) showEmpty(element);
    }
  }
  const modal = Array.from(document.querySelectorAll("dialog:modal, [aria-modal=true]")).some((dialog) => dialog.getClientRects().length > 0);
  const areas = [];
  for (const area of document.querySelectorAll("map > area[href]")) {
    const image = document.querySelector('img[usemap="#' + CSS.escape(area.parentElement.name) + '"]');
    if (!image || image.getClientRects().length === 0) continue;
    const corner = image.getBoundingClientRect();
    const [a = 0, b = 0, c, d] = area.coords.split(",").map(Number);
    const isCircle = /^circ/i.test(area.shape);
    areas.push({
      name: area.alt || area.title || area.getAttribute("aria-label") || "",
      url: area.href,
      x: Math.round(corner.x + (isCircle || c === undefined ? a : (a + c) / 2)),
      y: Math.round(corner.y + (isCircle || d === undefined ? b : (b + d) / 2)),
    });
  }
  return { modal, areas };
`;
export const markOperable = new Function(MARK_SCRIPT) as () => MarkResult;

export const unmarkOperable = new Function(
  "for (const undo of window.porticoMarks ? window.porticoMarks.undo : []) undo(); delete window.porticoMarks;",
) as () => void;
