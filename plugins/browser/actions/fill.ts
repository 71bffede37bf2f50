/** One field of a form. */
import { errors } from "../errors.ts";
import { remainingMs } from "../deadline.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";
import { setByLabel } from "./by-label.ts";
import { choose } from "./choose.ts";
import { enter } from "./entry.ts";
import { CLICKED, EDITED, findElement, NOTHING, SEEN, tryOn } from "./elements.ts";

export interface Field {
  ref: unknown;
  /** `text` (default), `checkbox`, `radio`, `select`; others (`date`, `range`, …) are filled as text. */
  type?: string;
  value?: unknown;
}

const inValue = (index: number) => ({ param: `fields[${index}].value` });

/** Whether a box is to be checked: without a value it is. */
function isYes(value: unknown, index: number): boolean {
  if (value === undefined || /^(true|on|yes|1|checked)$/i.test(String(value))) return true;
  if (/^(false|off|no|0|unchecked|)$/i.test(String(value)) && !Array.isArray(value)) return false;
  throw errors.boxNeedsBoolean(inValue(index));
}

/** The value that the page made of a text, where that is another one. */
export async function fillOne(
  { tab, timeoutMs, explicit }: Act,
  field: Field,
  index: number,
): Promise<string | undefined> {
  const start = Date.now();
  const param = `fields[${index}].ref`;
  const kind = field.type?.toLowerCase() ?? (await naturalKind(tab, field.ref, timeoutMs, param));
  const shared = {
    tab,
    ref: field.ref,
    param,
    timeoutMs: remainingMs(start, timeoutMs),
    explicit,
    what: `Filling field ${index + 1}`,
  };
  if (/^(checkbox|radio|switch)$/.test(kind)) {
    const needs = { ...CLICKED, visible: false };
    const checked = isYes(field.value, index);
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
    await tryOn({ ...shared, needs: { ...SEEN, enabled: true }, work: choose(values, explicit) });
    return undefined;
  }
  if (Array.isArray(field.value)) throw errors.textTakesOneValue(inValue(index));
  const text = field.value === undefined ? "" : String(field.value);
  return (await tryOn({
    ...shared,
    needs: EDITED,
    work: (locator, limits) => enter(locator, text, limits),
  })) as string | undefined;
}

/** An agent that does not say what kind of field it is means what the field is. */
async function naturalKind(
  tab: Tab,
  ref: unknown,
  timeoutMs: number,
  param: string,
): Promise<string> {
  const { tag } = (await findElement(tab, ref, NOTHING, timeoutMs, param)).probe;
  if (tag.startsWith("<select")) return "select";
  return /type="(checkbox|radio)"/.exec(tag)?.[1] ?? "text";
}
