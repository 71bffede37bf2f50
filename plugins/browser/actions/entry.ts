/** Enters text into a field, and checks what the field made of it. */
import { errors } from "../errors.ts";
import { attempt } from "../deadline.ts";
import type { Locator } from "../drivers/playwright.ts";
import {
  copySelection,
  type FieldState,
  focusField,
  pasteText,
  readField,
  waitForEditor,
} from "../tab/field-scripts.ts";
import { entryModeOf } from "../tab/page-scripts.ts";
import type { Limits } from "./trial.ts";

const FORMS: Readonly<Record<string, string>> = {
  color: "#rrggbb",
  date: "2026-01-31",
  "datetime-local": "2026-01-31T12:30",
  month: "2026-01",
  number: "a number",
  range: "a number between the field's min and max that fits its step",
  time: "12:30",
  week: "2026-W05",
};

/**
 * True if the field accepts keys; a field with a picker is only set as a whole. Rejects with a 422 if the field does
 * not accept the text.
 */
async function acceptsKeys(locator: Locator, text: string, limits: Limits): Promise<boolean> {
  const mode = await locator.evaluate(entryModeOf, text, limits);
  if (FORMS[mode] === undefined) return mode === "typed";
  throw errors.valueNotAccepted({
    type: mode,
    value: JSON.stringify(text.slice(0, 60)),
    form: FORMS[mode],
  });
}

export interface EntryOptions {
  /** The time in ms between two keys. Without it, the text is entered as a whole. */
  delay?: number;
}

/**
 * Replaces the content of a field. Returns the resulting value if the page changed the text. Rejects with a 422 if the
 * field keeps its old text.
 */
export async function enterText(
  locator: Locator,
  text: string,
  limits: Limits,
  { delay }: EntryOptions = {},
): Promise<string | undefined> {
  const isTyped = await acceptsKeys(locator, text, limits);
  const previous: EditorState = await locator.evaluate(readField, undefined, limits);
  const isKeyed = delay !== undefined && text !== "" && isTyped;
  if (isEditor(previous)) {
    await selectAll(locator, limits);
    const content = await selectedText(locator, limits);
    if (content !== null) Object.assign(previous, { text: content, isExact: true });
    if (isKeyed) await typeKeys(locator, text, delay, limits);
    else await replaceInEditor(locator, text, limits);
    await locator.evaluate(waitForEditor, undefined, limits);
  } else if (isKeyed) {
    // The first key replaces the selection; clearing the field would cost another key press.
    await locator.selectText(limits);
    await locator.pressSequentially(text, { delay, ...limits });
  } else await locator.fill(text, limits);
  return checkOutcome(locator, previous, text, limits, isTyped);
}

const isEditor = ({ kind }: FieldState): boolean => kind === "host" || kind === "proxy";

async function typeKeys(
  locator: Locator,
  text: string,
  delay: number,
  limits: Limits,
): Promise<void> {
  const { keyboard } = locator.page();
  for (const character of text) {
    if (limits.signal.aborted) return;
    if (character === "\n") await keyboard.press("Enter", { delay });
    else await keyboard.type(character, { delay });
  }
}

/** Selects the whole content and waits, because editors learn of a selection by a separate event a moment later. */
async function selectAll(locator: Locator, limits: Limits): Promise<void> {
  await locator.evaluate(focusField, undefined, limits);
  await locator.page().keyboard.press("ControlOrMeta+a");
  await locator.evaluate(readField, undefined, limits);
}

/**
 * Returns the selected content of an editor as the editor would copy it, or null if the editor does not handle the
 * copy.
 */
async function selectedText(locator: Locator, limits: Limits): Promise<string | null> {
  const copy = await locator.evaluate(copySelection, undefined, limits);
  return copy === null ? null : copy.replace(/\r\n?/g, "\n").replace(/\n$/, "");
}

interface EditorState extends FieldState {
  /** True if the text is the editor's content. The displayed text may be incomplete or include line numbers. */
  isExact?: boolean;
}

/** A text of digits looks like the line numbers of an empty editor. */
const LIKE_LINE_NUMBERS = /^[\d\s]+$/;

/**
 * Reads the displayed text of an editor. If that may differ from `text`, selects everything for a moment to read its
 * content.
 */
async function readEditor(locator: Locator, text: string, limits: Limits): Promise<EditorState> {
  const state = await locator.evaluate(readField, undefined, limits);
  if (isSame(state.text, text) && !LIKE_LINE_NUMBERS.test(text)) return state;
  await selectAll(locator, limits);
  const content = await selectedText(locator, limits);
  await locator.page().keyboard.press("ArrowRight");
  return content === null ? state : { ...state, text: content, isExact: true };
}

/** Replaces the selection as a user would, and pastes the text if the editor does not accept it that way. */
async function replaceInEditor(locator: Locator, text: string, limits: Limits): Promise<void> {
  const { keyboard } = locator.page();
  if (text === "") await keyboard.press("Delete");
  else await keyboard.insertText(text);
  await locator.evaluate(waitForEditor, undefined, limits);
  const { text: displayedText } = await readEditor(locator, text, limits);
  if (isSame(displayedText, text)) return;
  await selectAll(locator, limits);
  if (text === "") await keyboard.press("Backspace");
  else if (!(await locator.evaluate(pasteText, text, limits))) await keyboard.insertText(text);
}

/** The time in ms to read the field afterwards; it may not respond because the page replaced it. */
const OUTCOME_MS = 1_000;

async function checkOutcome(
  locator: Locator,
  previous: EditorState,
  text: string,
  { signal }: Limits,
  isTyped: boolean,
): Promise<string | undefined> {
  const limits = { timeout: OUTCOME_MS, signal };
  const reading: Promise<EditorState> = isEditor(previous)
    ? readEditor(locator, text, limits)
    : locator.evaluate(readField, undefined, limits);
  const current = await attempt(OUTCOME_MS + 200, reading, undefined);
  if (current === undefined) return undefined;
  if (isTyped && staysEmpty(previous, current, text)) throw errors.fieldStaysEmpty();
  if (current.text === text) return undefined;
  if (isSame(current.text, text) && current.kind !== "field") return undefined;
  if (isTyped && keepsOldText(previous, current, text))
    throw previous.text === "" ? errors.fieldStaysEmpty() : errors.fieldKeepsText();
  // The editor may display other things than its text.
  if (current.kind === "proxy" && !current.isExact) return undefined;
  return current.secret ? "•".repeat(current.text.length) : current.text;
}

/** True if an editor that draws its text itself accepted nothing; it may still display line numbers. */
function staysEmpty(previous: EditorState, current: EditorState, text: string): boolean {
  if (current.kind !== "proxy" || text === "") return false;
  if (current.isExact) return current.text === "";
  if (!LIKE_LINE_NUMBERS.test(text) || !isSame(current.text, text)) return false;
  // An empty editor copies nothing, so one that did copy before is empty now.
  return previous.isExact === true || isSame(previous.text, current.text);
}

/** Reduces a text to letters, digits and symbols, so that line breaks and number formats make no difference. */
const reduceText = (text: string): string =>
  text.toLowerCase().replace(/[^\p{L}\p{N}\p{S}]+/gu, "") || text.replace(/\s+/g, "");

const withoutSpace = (text: string): string => text.replace(/\s+/g, "");

/** Compares texts without white space, because editors display line breaks in several ways. */
const isSame = (displayed: string, text: string): boolean =>
  withoutSpace(displayed) === withoutSpace(text);

/** Separators of tags: fields that turn typed text into tags are empty after each one. */
const SEPARATORS = /[\n,;]/;
/** The minimum length of a match; fewer characters may be equal by chance. */
const MIN_MATCH = 4;

function keepsOldText(previous: FieldState, current: FieldState, text: string): boolean {
  const [oldText, newText, requestedText] = [
    reduceText(previous.text),
    reduceText(current.text),
    reduceText(text),
  ];
  if (newText === oldText && newText !== requestedText) {
    const isShortened = newText !== "" && requestedText.startsWith(newText);
    const isTagged = newText === "" && SEPARATORS.test(text);
    return !isShortened && !isTagged;
  }
  if (oldText === "" || requestedText.includes(oldText)) return false;
  if (oldText.length >= MIN_MATCH && newText.includes(oldText)) return true;
  if (!newText.includes(requestedText)) return false;
  const rest = newText.replace(requestedText, "");
  return rest === oldText || (rest.length >= MIN_MATCH && oldText.includes(rest));
}
