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

/** `field` is the element that takes the text: the label's control, or the one proxy within an editor's own element. */
const FIELD = `
  const isTiny = (e) => {
    for (let at = e, i = 0; at && i < 3; at = at.parentElement, i++) {
      const box = at.getBoundingClientRect();
      if ((i === 0 || getComputedStyle(at).overflow === "hidden") && (box.width < 5 || box.height < 5)) return true;
    }
    return false;
  };
  const takesText = (e) => e.tagName === "TEXTAREA" || e.tagName === "INPUT" || e.isContentEditable;
  const isProxy = (e) => e.tagName === "TEXTAREA" ? isTiny(e) : Boolean(e.editContext);
  const proxyIn = (e) => {
    const proxies = Array.from(e.querySelectorAll("textarea, .native-edit-context")).filter((one) => !one.readOnly && isProxy(one));
    return proxies.length === 1 ? proxies[0] : undefined;
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
