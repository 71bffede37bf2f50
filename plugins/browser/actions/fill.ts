/** One field of a form. */
import { left } from "../deadline.ts";
import type { Tab } from "../tab/tab.ts";
import type { Act } from "./types.ts";
import { enter } from "./entry.ts";
import { CLICKED, EDITED, findElement, NOTHING, SEEN, type Trial, tryOn } from "./elements.ts";

export interface Field {
  ref: unknown;
  /** `text` (default), `checkbox`, `radio`, `select`; others (`date`, `range`, …) are filled as text. */
  type?: string;
  value?: unknown;
}

const yes = (value: unknown): boolean =>
  value === undefined || value === true || /^(true|on|yes|1|checked)$/i.test(String(value));

export async function fillOne({ tab, timeoutMs, explicit }: Act, field: Field, index: number): Promise<void> {
  const start = Date.now();
  const param = `fields[${index}].ref`;
  const kind = field.type?.toLowerCase() ?? (await naturalKind(tab, field.ref, timeoutMs, param));
  const shared = {
    tab,
    ref: field.ref,
    param,
    timeoutMs: left(start, timeoutMs),
    explicit,
    what: `Filling field ${index + 1}`,
  };
  if (/^(checkbox|radio|switch)$/.test(kind)) {
    const needs = { ...CLICKED, visible: false };
    await tryOn({ ...shared, needs, work: (locator, limits) => locator.setChecked(yes(field.value), limits) });
    return;
  }
  if (/^(select|combobox|listbox)$/.test(kind)) {
    const values = Array.isArray(field.value) ? (field.value as string[]) : [String(field.value ?? "")];
    const work: Trial["work"] = (locator, { timeout, signal }) =>
      locator.selectOption(values, { timeout: explicit ? timeout : Math.min(timeout, 2_000), signal });
    await tryOn({ ...shared, needs: { ...SEEN, enabled: true }, work });
    return;
  }
  const text = field.value === undefined ? "" : String(field.value);
  await tryOn({ ...shared, needs: EDITED, work: (locator, limits) => enter(locator, text, limits) });
}

/** An agent that does not say what kind of field it is means what the field is. */
async function naturalKind(tab: Tab, ref: unknown, timeoutMs: number, param: string): Promise<string> {
  const { tag } = (await findElement(tab, ref, NOTHING, timeoutMs, param)).probe;
  if (tag.startsWith("<select")) return "select";
  return /type="(checkbox|radio)"/.exec(tag)?.[1] ?? "text";
}
