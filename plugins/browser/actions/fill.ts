/** Fills one field of a form. */
import { errors } from "../errors.ts";
import { remainingMs } from "../deadline.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";
import { setByLabel } from "./by-label.ts";
import { selectOptions } from "./choose.ts";
import { enterText } from "./entry.ts";
import {
  NEEDS_CLICKABLE,
  NEEDS_EDITABLE,
  findElement,
  NO_NEEDS,
  NEEDS_VISIBLE,
  tryOn,
} from "./elements.ts";

export interface Field {
  ref: unknown;
  /**
   * `checkbox`, `radio`, `select`, or `text`; other types (`date`, `range`, …) are filled as text. Default: the type of
   * the field.
   */
  type?: string;
  value?: unknown;
}

const valueParam = (index: number) => ({ param: `fields[${index}].value` });

/** Returns whether to check a box. Without a value, it is checked. */
function parseChecked(value: unknown, index: number): boolean {
  if (value === undefined || /^(true|on|yes|1|checked)$/i.test(String(value))) return true;
  if (/^(false|off|no|0|unchecked|)$/i.test(String(value)) && !Array.isArray(value)) return false;
  throw errors.boxNeedsBoolean(valueParam(index));
}

/** Fills a field. Returns the resulting value if the page changed the text. */
export async function fillField(
  { tab, timeoutMs, isExplicit }: Act,
  field: Field,
  index: number,
): Promise<string | undefined> {
  const start = Date.now();
  const param = `fields[${index}].ref`;
  const kind = field.type?.toLowerCase() ?? (await detectKind(tab, field.ref, timeoutMs, param));
  const shared = {
    tab,
    ref: field.ref,
    param,
    timeoutMs: remainingMs(start, timeoutMs),
    isExplicit,
    what: `Filling field ${index + 1}`,
  };
  if (/^(checkbox|radio|switch)$/.test(kind)) {
    const needs = { ...NEEDS_CLICKABLE, visible: false };
    const checked = parseChecked(field.value, index);
    await tryOn({
      ...shared,
      needs,
      work: (locator, limits) => locator.setChecked(checked, limits),
      byLabel: (click, locator, limits) => setByLabel(checked, click, locator, limits),
    });
    return undefined;
  }
  if (/^(select|combobox|listbox)$/.test(kind)) {
    const values = Array.isArray(field.value)
      ? (field.value as string[])
      : [String(field.value ?? "")];
    await tryOn({
      ...shared,
      needs: { ...NEEDS_VISIBLE, enabled: true },
      work: selectOptions(values, isExplicit),
    });
    return undefined;
  }
  if (Array.isArray(field.value)) throw errors.textAcceptsOneValue(valueParam(index));
  const text = field.value === undefined ? "" : String(field.value);
  return (await tryOn({
    ...shared,
    needs: NEEDS_EDITABLE,
    work: (locator, limits) => enterText(locator, text, limits),
  })) as string | undefined;
}

/** Determines the type of a field from its element, for callers that do not specify it. */
async function detectKind(
  tab: Tab,
  ref: unknown,
  timeoutMs: number,
  param: string,
): Promise<string> {
  const { tag } = (await findElement(tab, ref, NO_NEEDS, timeoutMs, param)).probe;
  if (tag.startsWith("<select")) return "select";
  return /type="(checkbox|radio)"/.exec(tag)?.[1] ?? "text";
}
