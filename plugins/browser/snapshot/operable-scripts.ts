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

/** Elements that the library lists anyway. */
const LISTED = `/^(HTML|BODY|A|BUTTON|INPUT|SELECT|TEXTAREA|OPTION|LABEL|IFRAME)$/`;
/** Larger ones listen for what is in them. */
const MOST_INSIDE = 100;

/** A pointer shows what can be clicked; an animation shows it without a change of the document. */
const POINT = `
  const point = (element) => {
    if (${LISTED}.test(element.tagName) || element.hasAttribute("role")) return;
    if (element.getElementsByTagName("*").length > ${MOST_INSIDE}) return;
    const animation = element.animate({ cursor: ["pointer", "pointer"] }, { duration: 1e9, fill: "both" });
    (window.porticoMarks = window.porticoMarks || []).push(() => animation.cancel());
  };
`;

/** An element that listens for clicks; called on the element itself. */
export const MARK_LISTENER = `function () { if (this.nodeType !== 1 || !this.isConnected) return; const element = this; ${POINT} point(element); }`;

const MARK = `
  ${POINT}
  const marks = (window.porticoMarks = window.porticoMarks || []);
  const set = (element, name, value) => {
    if (element.hasAttribute(name) || !value) return;
    element.setAttribute(name, value);
    marks.push(() => element.removeAttribute(name));
  };
  const roots = [document];
  for (let i = 0; i < roots.length; i++) {
    for (const element of roots[i].querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      const isHost = element.isContentEditable && !(element.parentElement && element.parentElement.isContentEditable);
      if (isHost && element.hasAttribute("contenteditable")) {
        const isNamed = element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
        // The library leaves out the text that stands directly in a textbox.
        const hasText = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim() !== "");
        if (hasText && isNamed) point(element);
        else {
          set(element, "role", "textbox");
          const hint = element.getAttribute("aria-placeholder") || element.getAttribute("data-placeholder") || element.getAttribute("placeholder");
          if (!isNamed) set(element, "aria-label", hasText ? element.innerText.slice(0, 200) : hint);
        }
      } else if (element.tagName === "CANVAS") {
        point(element);
        set(element, "role", "img");
        set(element, "aria-label", "canvas");
      } else if (element.tagName === "SUMMARY" || element.tabIndex >= 0 && element.hasAttribute("tabindex") || element.onclick || element.onmousedown || element.onpointerdown) point(element);
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
  "for (const undo of (window.porticoMarks || []).splice(0)) undo(); delete window.porticoMarks;",
) as () => void;
