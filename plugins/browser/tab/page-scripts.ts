/**
 * Scripts that run inside pages. They are made with `new Function` because a bundler may insert helpers (`__name`) into
 * our functions that do not exist in pages.
 */
import { FIELD_SCRIPT } from "./field-scripts.ts";

/** The state of an element, as far as it can prevent an action. */
export interface Probe {
  visible: boolean;
  enabled: boolean;
  editable: boolean;
  /** The element that covers the middle of the target, such as `<div id="x">`. */
  coveredBy?: string;
  /**
   * Set for a box that the page draws itself: its label covers it (`over`), or its label can be clicked although the
   * box cannot (`beside`).
   */
  label?: "over" | "beside";
  /** True for an element that is inert (`inert`), or that scrolling cannot bring into view (`outside`). */
  inert?: boolean;
  outside?: boolean;
  /** The element itself, such as `<input type="text">`. */
  tag: string;
}

/** The conditions that an action requires of its element. */
export interface ProbeNeeds {
  visible: boolean;
  enabled: boolean;
  editable: boolean;
  hit: boolean;
  /** Scrolls to the element first. Otherwise the element is tested in place, and `hit` only if it is in view. */
  scroll?: boolean;
}

/**
 * Finds the label that stands for an element: the one that covers its middle, else (after scrolling) one that can be
 * clicked.
 */
const LABEL_SCRIPT = `
  const point = (e) => { const box = e.getBoundingClientRect(); return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; };
  const hit = (e, { x, y }) => { const root = e.getRootNode(); return (root.elementFromPoint ? root : document).elementFromPoint(x, y); };
  const labels = Array.from(element.labels || []);
  const labelAt = (place) => {
    const at = hit(element, place);
    return at && at !== element && !at.closest("a[href],button,input,select,textarea,summary") && labels.find((label) => label.contains(at));
  };
  const over = labelAt(point(element));
  const beside = () => labels.find((label) => {
    if (label.scrollIntoViewIfNeeded) label.scrollIntoViewIfNeeded();
    return labelAt(point(label)) === label;
  });
`;

const PROBE_SCRIPT = `
  const describe = (e) => {
    let text = "<" + e.tagName.toLowerCase();
    for (const name of ["id", "class", "type", "role", "name"]) {
      const value = e.getAttribute && e.getAttribute(name);
      if (value) text += " " + name + '="' + String(value).slice(0, 60) + '"';
    }
    return text + ">";
  };
  const out = { tag: describe(element) };
  if (needs.hit && needs.scroll && element.scrollIntoViewIfNeeded) element.scrollIntoViewIfNeeded();
  let box = element.getBoundingClientRect();
  const isOutside = () => box.right <= 0 || box.bottom <= 0 || box.x >= innerWidth || box.y >= innerHeight;
  if (needs.hit && needs.scroll && isOutside()) {
    // A page may scroll smoothly, and may not have arrived yet.
    element.scrollIntoView({ behavior: "instant", block: "nearest", inline: "nearest" });
    box = element.getBoundingClientRect();
    out.outside = isOutside();
  }
  const up = (e) => e.parentElement || (e.getRootNode().host || null);
  for (let e = element; e; e = up(e)) if (e.inert) out.inert = true;
  const style = getComputedStyle(element);
  out.visible = style.visibility === "visible" && style.display !== "none" && (style.display === "contents" || (box.width > 0 && box.height > 0));
  const disabledFieldset = element.closest && element.closest("fieldset[disabled]");
  const ariaDisabled = element.closest && element.closest('[aria-disabled="true"]');
  const control = /^(BUTTON|INPUT|SELECT|TEXTAREA|OPTION|OPTGROUP)$/.test(element.tagName);
  out.enabled = !(control && (element.disabled || disabledFieldset)) && !ariaDisabled;
  const isInput = field.tagName === "TEXTAREA" || field.tagName === "INPUT";
  out.editable = field.isContentEditable || Boolean(field.editContext) || field.tagName === "SELECT" || (isInput && !field.readOnly && field.getAttribute("aria-readonly") !== "true");
  // An editor hides the element that receives its keys, and shows the text elsewhere.
  if (needs.editable && isProxy(field) && field.getClientRects().length > 0) out.visible = true;
  if (needs.hit && out.visible && box.width > 0) {
    const root = element.getRootNode();
    const at = (root.elementFromPoint ? root : document).elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (at) {
      const holds = (outer, inner) => { for (let e = inner; e; e = up(e)) if (e === outer) return true; return false; };
      const label = element.labels && Array.from(element.labels).some((l) => holds(l, at));
      if (!holds(element, at) && !holds(at, element) && !label) out.coveredBy = describe(at);
      else if (!holds(element, at) && !label && at !== root.host && getComputedStyle(element).pointerEvents === "none") out.coveredBy = describe(at);
    }
  }
  if (needs.hit && labels.length > 0) {
    const at = over || hit(element, point(element));
    if (over) out.label = "over";
    else if (needs.scroll && at !== element && (!at || at.contains(element)) && beside()) out.label = "beside";
  }
  return out;
`;
export const probeElement = new Function(
  "element",
  "needs",
  FIELD_SCRIPT + LABEL_SCRIPT + PROBE_SCRIPT,
) as (element: unknown, needs: ProbeNeeds) => Probe;

/** Returns the label to click for an element, or null if it no longer has one. */
export const findLabel = new Function(
  "element",
  `${LABEL_SCRIPT} return over || beside() || null;`,
) as (element: unknown) => object | null;

/**
 * Returns the position to click, relative to the label's corner: the middle of the element if the label covers it, else
 * the middle of the label.
 */
export const positionInLabel = new Function(
  "element",
  `${LABEL_SCRIPT}
  const label = over || beside() || element;
  const { x, y } = point(over ? element : label);
  const corner = label.getBoundingClientRect();
  return { x: x - corner.x, y: y - corner.y };`,
) as (element: unknown) => { x: number; y: number };

const ENTRY_SCRIPT = `
  const label = element.closest && element.closest("label");
  const field = element.tagName === "INPUT" ? element : (label && label.control) || element;
  const newValue = text.trim();
  if (field.tagName !== "INPUT" || !/^(color|date|datetime-local|month|number|range|time|week)$/.test(field.type)) return "typed";
  const trial = field.cloneNode();
  trial.value = newValue;
  if (field.type === "number") return newValue === "" || trial.value !== "" ? "typed" : "number";
  if (newValue === "") return "set";
  if (field.type === "range") return Number(trial.value) === Number(newValue) ? "set" : field.type;
  if (field.type === "color") return trial.value !== "#000000" || /^(#0+|black|rgb.*)$/i.test(newValue) ? "set" : field.type;
  return trial.value === "" ? field.type : "set";
`;
/**
 * Returns how a text is entered into a field: `typed`, or `set` as a whole if the browser has a picker for its type.
 * Returns the field's type if the field does not accept the text, since the browser would silently clear it.
 */
export const entryModeOf = new Function("element", "text", ENTRY_SCRIPT) as (
  element: unknown,
  text: string,
) => string;

/** True for a list with a single value. */
export const isSingleValueList = new Function(
  "element",
  `
  const list = element.tagName === "LABEL" ? element.control : element;
  return Boolean(list) && list.tagName === "SELECT" && !list.multiple;
`,
) as (element: unknown) => boolean;

/** A box to draw over the page with its ref, in a shadow root that the page's styles do not reach. */
export interface Label {
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

const DRAW_SCRIPT = `
  const html = "http://www.w3.org/1999/xhtml";
  const old = document.querySelector("portico-labels");
  if (old) old.remove();
  if (!input.labels.length || !document.documentElement) return;
  const host = document.createElementNS(html, "portico-labels");
  host.setAttribute("aria-hidden", "true");
  host.style.cssText = "all:initial;position:fixed;left:0;top:0;width:0;height:0;z-index:2147483647;pointer-events:none";
  const root = host.attachShadow({ mode: "closed" });
  for (const label of input.labels) {
    const box = document.createElementNS(html, "div");
    box.style.cssText = "position:fixed;box-sizing:border-box;border:2px solid " + input.color + ";pointer-events:none;left:" + label.x + "px;top:" + label.y + "px;width:" + label.width + "px;height:" + label.height + "px";
    if (label.text) {
      const tag = document.createElementNS(html, "div");
      tag.textContent = label.text;
      tag.style.cssText = "position:fixed;font:bold 11px/14px monospace;padding:0 3px;color:#fff;background:" + input.color + ";left:" + label.x + "px;top:" + Math.max(0, label.y - 14) + "px";
      root.append(box, tag);
    } else root.append(box);
  }
  document.documentElement.append(host);
  if (input.ms) setTimeout(() => host.remove(), input.ms);
`;
export const drawLabels = new Function("input", DRAW_SCRIPT) as (input: {
  labels: Label[];
  color: string;
  ms?: number;
}) => void;

/**
 * Returns the keys and values of `localStorage` or `sessionStorage`. They are pairs, because `__proto__` is a valid
 * key.
 */
export const readStorage = new Function(
  "kind",
  `const s = kind === "local" ? localStorage : sessionStorage; const out = [];
   for (let i = 0; i < s.length; i++) { const k = s.key(i); out.push([k, s.getItem(k)]); } return out;`,
) as (kind: string) => [key: string, value: string][];

export const writeStorage = new Function(
  "input",
  `const s = input.kind === "local" ? localStorage : sessionStorage;
   if (input.clear) s.clear(); else s.setItem(input.key, input.value);`,
) as (input: { kind: string; clear?: boolean; key?: string; value?: string }) => void;
