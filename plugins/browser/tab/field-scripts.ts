/** What runs inside pages to read and to write fields. Made with `new Function`, for the reason that `page-scripts.ts` has. */

/**
 * What takes the text: `field` an input or text area; `host` an editable element as a whole; `part` an element within
 * one; `proxy` the tiny text area by which an editor that draws its text itself takes keys; `none` no text at all.
 */
export interface FieldState {
  kind: "field" | "host" | "part" | "proxy" | "none";
  /** What it holds; of a proxy, what its editor shows. */
  text: string;
  /** Shown as dots. */
  secret: boolean;
}

/**
 * Finds `field`, the element that takes the text: the control of a label, or the proxy of an editor where `element` holds
 * that one and nothing else that takes text.
 */
export const FIELD = `
  const isTiny = (e) => {
    for (let at = e, i = 0; at && i < 3; at = at.parentElement, i++) {
      const box = at.getBoundingClientRect();
      if ((i === 0 || getComputedStyle(at).overflow === "hidden") && (box.width < 5 || box.height < 5)) return true;
    }
    return false;
  };
  const takesText = (e) => e.tagName === "TEXTAREA" || e.tagName === "INPUT" || e.isContentEditable || Boolean(e.editContext);
  const isProxy = (e) => e.tagName === "TEXTAREA" ? isTiny(e) : Boolean(e.editContext);
  const proxyIn = (e) => {
    const fields = Array.from(e.querySelectorAll("textarea, input, [contenteditable], [role=textbox], .native-edit-context"))
      .filter((one) => takesText(one) && !one.readOnly && one.type !== "hidden" && one.getClientRects().length > 0);
    return fields.length === 1 && isProxy(fields[0]) ? fields[0] : undefined;
  };
  const labelled = element.tagName === "LABEL" && element.control ? element.control : element;
  const field = takesText(labelled) ? labelled : proxyIn(labelled) || labelled;
`;

const READ = `
  const clean = (text) => (text || "").replace(/[\\u200b\\ufeff]/g, "").replace(/\\u00a0/g, " ").replace(/\\r\\n?/g, "\\n").replace(/\\n$/, "");
  const editorOf = (e) => {
    for (let at = e.parentElement; at && at !== document.body; at = at.parentElement)
      if (!isTiny(at) && clean(at.innerText).trim() !== "") return at;
    return e;
  };
  const read = () => {
    if (isProxy(field)) return { kind: "proxy", text: clean(editorOf(field).innerText), secret: false };
    if (field.tagName === "TEXTAREA" || field.tagName === "INPUT")
      return { kind: "field", text: clean(field.value), secret: field.type === "password" };
    if (!field.isContentEditable) return { kind: "none", text: "", secret: false };
    const isPart = field.parentElement !== null && field.parentElement.isContentEditable;
    return { kind: isPart ? "part" : "host", text: clean(field.innerText), secret: false };
  };
`;

/** The state of the field, once the page has had the time to draw. */
export const readField = new Function(
  "element",
  `${FIELD}${READ}
  const drawn = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
  const late = new Promise((done) => setTimeout(done, 100));
  return Promise.race([drawn, late]).then(read);`,
) as (element: unknown) => Promise<FieldState>;

/**
 * Waits until an editor has read what was typed into it. Some read their own element a while after the input event
 * (CodeMirror 5 after 80 ms), and mix up a selection that is made before. Timers of one page run in the order of their
 * time, so this one ends after that of the editor on a busy page as well.
 */
export const waitForEditor = new Function(
  "return new Promise((done) => setTimeout(done, 150));",
) as (element: unknown) => Promise<void>;

/** Focuses what takes the text. */
export const focusField = new Function("element", `${FIELD} field.focus();`) as (
  element: unknown,
) => void;

/** Pastes a text where the focus is. False where the page does nothing with it. */
export const pasteText = new Function(
  "element",
  "text",
  `${FIELD}
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true, composed: true });
  (field.getRootNode().activeElement || field).dispatchEvent(paste);
  return paste.defaultPrevented;`,
) as (element: unknown, text: string) => boolean;

/**
 * The selection as the page would copy it, which is the exact text where an editor shows only a part of it, or line
 * numbers beside it. Nothing is written to the clipboard. Null where the page does not handle the copy.
 */
export const copySelection = new Function(
  "element",
  `${FIELD}
  const data = new DataTransfer();
  const copy = new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true, composed: true });
  (field.getRootNode().activeElement || field).dispatchEvent(copy);
  const text = data.getData("text/plain");
  if (copy.defaultPrevented || text !== "") return text;
  // Some editors put the selection into their text area, for the browser to copy it from there.
  return (field.tagName === "TEXTAREA" && field.value.slice(field.selectionStart, field.selectionEnd)) || null;`,
) as (element: unknown) => string | null;
