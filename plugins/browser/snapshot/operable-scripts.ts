/**
 * What runs inside pages so that the library shows what can be operated though its role does not say so. Made with
 * `new Function`, for the reason that `page-scripts.ts` has.
 */

/** A link of an image map, and the middle of it on the page. */
interface Area {
  name: string;
  url: string;
  x: number;
  y: number;
}

export interface Marked {
  /** A dialog is open that keeps the rest of the page from being used. */
  modal: boolean;
  areas: Area[];
}

/** The library lists these elements anyway. */
const LISTED = `:is(html, body, a[href], button, input, select, textarea, option, label, iframe)`;
/** An element with more elements inside listens for what is in it. */
const MOST_INSIDE = 100;
/** What a page hides behind an editor of its own has this size while the page is read, since the library skips the rest. */
const SHOWN_SIZE = "1px";

/**
 * `animate` changes how an element looks to the library without a change of the document. `point` shows the pointer of
 * what can be clicked; `delegate` takes it back from an element that listens for all that is in it, whichever comes first.
 */
const MARKS = `
  const marks = (window.porticoMarks = window.porticoMarks || { undo: [], pointers: new Map(), delegates: new WeakSet() });
  const animate = (element, property, value) => {
    const animation = element.animate({ [property]: [value, value] }, { duration: 1e9, fill: "both" });
    marks.undo.push(() => animation.cancel());
    return animation;
  };
  const setAttribute = (element, name, value) => {
    const before = element.getAttribute(name);
    element.setAttribute(name, value);
    marks.undo.push(() => before === null ? element.removeAttribute(name) : element.setAttribute(name, before));
  };
  // The library takes it for a part of the text around it.
  const isBareText = (element) =>
    element.childNodes.length === 1 && element.firstChild.nodeType === 3 && getComputedStyle(element).display === "inline";
  const point = (element) => {
    if (element.matches("${LISTED}") || element.hasAttribute("role")) return;
    if (marks.pointers.has(element) || marks.delegates.has(element)) return;
    if (element.getElementsByTagName("*").length > ${MOST_INSIDE}) return;
    marks.pointers.set(element, animate(element, "cursor", "pointer"));
    if (isBareText(element)) setAttribute(element, "role", "button");
  };
  const delegate = (element) => {
    marks.delegates.add(element);
    const pointer = marks.pointers.get(element);
    if (pointer) pointer.cancel();
  };
`;

const onListener = (action: string): string =>
  `function () { if (this.nodeType !== 1 || !this.isConnected) return; const element = this; ${MARKS} ${action}(element); }`;

/** An element that listens for clicks; called on the element itself. */
export const MARK_LISTENER = onListener("point");

/** An element that listens for all others, such as the root of a framework; called on the element itself. */
export const MARK_DELEGATE = onListener("delegate");

const MARK = `
  ${MARKS}
  const isEditable = (element) =>
    element.isContentEditable && element.hasAttribute("contenteditable") && !(element.parentElement && element.parentElement.isContentEditable);
  const hintOf = (element) =>
    element.getAttribute("aria-placeholder") || element.getAttribute("data-placeholder") || element.getAttribute("placeholder");
  const markEditable = (element) => {
    const isNamed = element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
    // The library leaves out the text that stands directly in a textbox.
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
    if (width === 0) animate(element, "minWidth", "${SHOWN_SIZE}");
    if (height === 0) animate(element, "minHeight", "${SHOWN_SIZE}");
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
  const modal = Array.from(document.querySelectorAll("dialog:modal, [aria-modal=true]")).some((one) => one.getClientRects().length > 0);
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
export const markOperable = new Function(MARK) as () => Marked;

export const unmarkOperable = new Function(
  "for (const undo of window.porticoMarks ? window.porticoMarks.undo : []) undo(); delete window.porticoMarks;",
) as () => void;
