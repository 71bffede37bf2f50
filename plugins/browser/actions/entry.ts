/** Text into a field, and what the field made of it. */
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
import { entryOf } from "../tab/page-scripts.ts";
import type { Limits } from "./trial.ts";

const FORMS: Readonly<Record<string, string>> = {
  color: "#rrggbb",
  date: "2026-01-31",
  "datetime-local": "2026-01-31T12:30",
  month: "2026-01",
  number: "a number",
  range: "a number within its bounds and steps",
  time: "12:30",
  week: "2026-W05",
};

/** True where the field takes keys; one with a picker is only ever set as a whole. 422 for what it would not hold. */
async function takesKeys(locator: Locator, text: string, limits: Limits): Promise<boolean> {
  const entry = await locator.evaluate(entryOf, text, limits);
  if (FORMS[entry] === undefined) return entry === "typed";
  throw errors.valueNotTaken({
    type: entry,
    value: JSON.stringify(text.slice(0, 60)),
    form: FORMS[entry],
  });
}

export interface Entry {
  /** Milliseconds between two keys; without it the text comes as a whole. */
  delay?: number;
}

/**
 * Replaces what the field holds. Answers the value that the page made of the text where that is another one. 422 where
 * the field keeps its old text.
 */
export async function enter(
  locator: Locator,
  text: string,
  limits: Limits,
  { delay }: Entry = {},
): Promise<string | undefined> {
  const isTyped = await takesKeys(locator, text, limits);
  const before: EditorState = await locator.evaluate(readField, undefined, limits);
  const isKeyed = delay !== undefined && text !== "" && isTyped;
  if (isEditor(before)) {
    await selectAll(locator, limits);
    const held = await selectedText(locator, limits);
    if (held !== null) Object.assign(before, { text: held, isExact: true });
    if (isKeyed) await typeKeys(locator, text, delay, limits);
    else await replaceInEditor(locator, text, limits);
    await locator.evaluate(waitForEditor, undefined, limits);
  } else if (isKeyed) {
    // The first key replaces what is selected; emptying the field would press a key of its own.
    await locator.selectText(limits);
    await locator.pressSequentially(text, { delay, ...limits });
  } else await locator.fill(text, limits);
  return outcome(locator, before, text, limits, isTyped);
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

/** An event of its own tells editors of a selection, a moment after it was made. */
async function selectAll(locator: Locator, limits: Limits): Promise<void> {
  await locator.evaluate(focusField, undefined, limits);
  await locator.page().keyboard.press("ControlOrMeta+a");
  await locator.evaluate(readField, undefined, limits);
}

/** What an editor holds while all of it is selected, as the editor would copy it. Null where it does not say. */
async function selectedText(locator: Locator, limits: Limits): Promise<string | null> {
  const copy = await locator.evaluate(copySelection, undefined, limits);
  return copy === null ? null : copy.replace(/\r\n?/g, "\n").replace(/\n$/, "");
}

interface EditorState extends FieldState {
  /** The text is what the editor holds, not only what it shows, which may have line numbers in it. */
  isExact?: boolean;
}

/** A text of digits alone looks like the line numbers of an editor that is empty. */
const LIKE_LINE_NUMBERS = /^[\d\s]+$/;

/**
 * Reads what an editor shows, and where that may not be `text`, what it holds; for that it selects all for a moment.
 */
async function readEditor(locator: Locator, text: string, limits: Limits): Promise<EditorState> {
  const state = await locator.evaluate(readField, undefined, limits);
  if (isSame(state.text, text) && !LIKE_LINE_NUMBERS.test(text)) return state;
  await selectAll(locator, limits);
  const held = await selectedText(locator, limits);
  await locator.page().keyboard.press("ArrowRight");
  return held === null ? state : { ...state, text: held, isExact: true };
}

/** Writes over the selection, as a person does; pastes what the editor does not take that way. */
async function replaceInEditor(locator: Locator, text: string, limits: Limits): Promise<void> {
  const { keyboard } = locator.page();
  if (text === "") await keyboard.press("Delete");
  else await keyboard.insertText(text);
  await locator.evaluate(waitForEditor, undefined, limits);
  const { text: shown } = await readEditor(locator, text, limits);
  if (isSame(shown, text)) return;
  await selectAll(locator, limits);
  if (text === "") await keyboard.press("Backspace");
  else if (!(await locator.evaluate(pasteText, text, limits))) await keyboard.insertText(text);
}

/** A field that the page replaces while it takes the text can tell no more than this is waited for. */
const OUTCOME_MS = 1_000;

async function outcome(
  locator: Locator,
  before: EditorState,
  text: string,
  { signal }: Limits,
  isTyped: boolean,
): Promise<string | undefined> {
  const limits = { timeout: OUTCOME_MS, signal };
  const reading: Promise<EditorState> = isEditor(before)
    ? readEditor(locator, text, limits)
    : locator.evaluate(readField, undefined, limits);
  const after = await attempt(OUTCOME_MS + 200, reading, undefined);
  if (after === undefined) return undefined;
  if (isTyped && staysEmpty(before, after, text)) throw errors.fieldStaysEmpty();
  if (after.text === text) return undefined;
  if (isSame(after.text, text) && after.kind !== "field") return undefined;
  if (isTyped && keepsOldText(before, after, text))
    throw before.text === "" ? errors.fieldStaysEmpty() : errors.fieldKeepsText();
  // What such an editor shows beside its text is unknown.
  if (after.kind === "proxy" && !after.isExact) return undefined;
  return after.secret ? "•".repeat(after.text.length) : after.text;
}

/** Whether an editor that draws its text itself has taken nothing: it may still show line numbers. */
function staysEmpty(before: EditorState, after: EditorState, text: string): boolean {
  if (after.kind !== "proxy" || text === "") return false;
  if (after.isExact) return after.text === "";
  if (!LIKE_LINE_NUMBERS.test(text) || !isSame(after.text, text)) return false;
  // An editor copies nothing while it is empty: one that did copy before holds nothing now.
  return before.isExact === true || isSame(before.text, after.text);
}

/** Letters and digits alone: how an editor breaks lines, and how a page formats numbers, makes no difference. */
const essence = (text: string): string =>
  text.toLowerCase().replace(/[^\p{L}\p{N}\p{S}]+/gu, "") || text.replace(/\s+/g, "");

const withoutSpace = (text: string): string => text.replace(/\s+/g, "");

/** Editors show line breaks in several ways. */
const isSame = (shown: string, text: string): boolean => withoutSpace(shown) === withoutSpace(text);

/** Fields that make entries of what is typed are empty after each. */
const SEPARATORS = /[\n,;]/;
/** Fewer characters may be alike by chance. */
const LEAST_REST = 4;

function keepsOldText(before: FieldState, after: FieldState, text: string): boolean {
  const [old, now, wanted] = [essence(before.text), essence(after.text), essence(text)];
  if (now === old && now !== wanted) {
    const isCut = now !== "" && wanted.startsWith(now);
    const isTaken = now === "" && SEPARATORS.test(text);
    return !isCut && !isTaken;
  }
  if (old === "" || wanted.includes(old)) return false;
  if (old.length >= LEAST_REST && now.includes(old)) return true;
  if (!now.includes(wanted)) return false;
  const rest = now.replace(wanted, "");
  return rest === old || (rest.length >= LEAST_REST && old.includes(rest));
}
