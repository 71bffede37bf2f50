/**
 * Scripts that run inside pages to read and write fields. They are made with `new Function`; `page-scripts.ts` explains
 * why.
 */

/**
 * The element that takes the text: `field` is an input or text area; `host` is an editable element as a whole; `part`
 * is an element within one; `proxy` is the tiny text area by which an editor that draws its text itself receives keys;
 * `none` takes no text.
 */
export interface FieldState {
  kind: "field" | "host" | "part" | "proxy" | "none";
  /** The current text; for a proxy, the text that its editor shows. */
  text: string;
  /** True for a password field. */
  secret: boolean;
}

/**
 * Declares `field`, the element that takes the text: the control of a label, or the proxy of an editor if `element`
 * contains that proxy and no other element that takes text.
 */
export const FIELD_SCRIPT = `
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
      .filter((e) => takesText(e) && !e.readOnly && e.type !== "hidden" && e.getClientRects().length > 0);
    return fields.length === 1 && isProxy(fields[0]) ? fields[0] : undefined;
  };
  const labelled = element.tagName === "LABEL" && element.control ? element.control : element;
  const field = takesText(labelled) ? labelled : proxyIn(labelled) || labelled;
`;

const READ_SCRIPT = `
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

/** Returns the state of the field after the page has had time to render. */
export const readField = new Function(
  "element",
  `${FIELD_SCRIPT}${READ_SCRIPT}
  const drawn = new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
  const timeout = new Promise((done) => setTimeout(done, 100));
  return Promise.race([drawn, timeout]).then(read);`,
) as (element: unknown) => Promise<FieldState>;

/**
 * Waits until an editor has processed the typed text. Some editors read their own element a while after the input event
 * (CodeMirror 5 after 80 ms) and would misplace an earlier selection. The timers of a page run in the order of their
 * due times, so this one ends after the editor's even on a busy page.
 */
export const waitForEditor = new Function(
  "return new Promise((done) => setTimeout(done, 150));",
) as (element: unknown) => Promise<void>;

/** Focuses the element that takes the text. */
export const focusField = new Function("element", `${FIELD_SCRIPT} field.focus();`) as (
  element: unknown,
) => void;

/** Pastes a text into the focused element. Returns false if the page does not handle the event. */
export const pasteText = new Function(
  "element",
  "text",
  `${FIELD_SCRIPT}
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true, composed: true });
  (field.getRootNode().activeElement || field).dispatchEvent(paste);
  return paste.defaultPrevented;`,
) as (element: unknown, text: string) => boolean;

/**
 * Returns the selection as the page would copy it, which is the exact text even if an editor renders only a part of it,
 * or line numbers beside it. The clipboard is not changed. Returns null if the page does not handle the copy.
 */
export const copySelection = new Function(
  "element",
  `${FIELD_SCRIPT}
  const data = new DataTransfer();
  const copy = new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true, composed: true });
  (field.getRootNode().activeElement || field).dispatchEvent(copy);
  const text = data.getData("text/plain");
  if (copy.defaultPrevented || text !== "") return text;
  // Some editors put the selection into their text area, for the browser to copy it from there.
  return (field.tagName === "TEXTAREA" && field.value.slice(field.selectionStart, field.selectionEnd)) || null;`,
) as (element: unknown) => string | null;
