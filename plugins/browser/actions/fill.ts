/** One field of a form. */
import type { Act } from "./types.ts";
import { CLICKED, EDITED, SEEN, tryOn } from "./elements.ts";

export interface Field {
  ref: unknown;
  /** `text` (default), `checkbox`, `radio`, `select`; others (`date`, `range`, …) are filled as text. */
  type?: string;
  value?: unknown;
}

const yes = (value: unknown): boolean =>
  value === undefined || value === true || /^(true|on|yes|1|checked)$/i.test(String(value));

export async function fillOne({ tab, timeoutMs, explicit }: Act, field: Field, index: number): Promise<void> {
  const shared = { tab, ref: field.ref, param: `fields[${index}].ref`, timeoutMs, explicit };
  const what = `Filling field ${index + 1}`;
  const kind = field.type?.toLowerCase();
  if (kind === "checkbox" || kind === "radio" || kind === "switch") {
    const wish = { ...CLICKED, visible: false };
    await tryOn({
      ...shared,
      what,
      wish,
      work: (locator, timeout) => locator.setChecked(yes(field.value), { timeout }),
    });
    return;
  }
  if (kind === "select" || kind === "combobox" || kind === "listbox") {
    const values = Array.isArray(field.value) ? (field.value as string[]) : [String(field.value ?? "")];
    const limit = (timeout: number): number => (explicit ? timeout : Math.min(timeout, 2_000));
    await tryOn({
      ...shared,
      what,
      wish: { ...SEEN, enabled: true },
      work: (locator, timeout) => locator.selectOption(values, { timeout: limit(timeout) }),
    });
    return;
  }
  const text = field.value === undefined ? "" : String(field.value);
  await tryOn({
    ...shared,
    what,
    wish: EDITED,
    async work(locator, timeout, probe) {
      // An agent that does not say what kind of field it is means what the field is.
      if (kind === undefined && probe.tag.startsWith("<select"))
        await locator.selectOption(text, { timeout: Math.min(timeout, 2_000) });
      else if (kind === undefined && /type="(checkbox|radio)"/.test(probe.tag))
        await locator.setChecked(yes(field.value), { timeout });
      else await locator.fill(text, { timeout });
    },
  });
}
