/** Masks password fields, whose values the library reports like those of other fields. */
import type { Frame, Page } from "../drivers/playwright.ts";
import { attempt } from "../deadline.ts";
import { type AriaNode, everyNode } from "./aria-node.ts";

/** The time in ms within which an idle frame returns its fields. */
const FRAME_MS = 1_000;

/** Normalizes a value as the library does. */
const normalizeValue = (value: string): string => value.replace(/[\s\u200b\u00ad]+/g, " ").trim();

/** Masks the values of password fields in a tree, in all frames and open shadow roots. */
export async function hidePasswords(
  page: Page,
  roots: readonly (AriaNode | string)[],
): Promise<void> {
  const fields = [...everyNode(roots)].filter(({ role, text }) => role === "textbox" && text);
  if (fields.length === 0) return;
  const passwordLists = await Promise.all(
    page.frames().map((frame) => attempt(FRAME_MS, passwordsOf(frame), undefined)),
  );
  // If the page does not respond, any field may be a password field.
  const [mainFrameList] = passwordLists;
  const values = new Set(passwordLists.flat().map((value) => normalizeValue(value ?? "")));
  for (const field of fields)
    if (mainFrameList === undefined || values.has(normalizeValue(field.text!)))
      field.text = "•".repeat(field.text!.length);
}

/**
 * Reads the password fields of a frame. The callback runs inside the page, so it must not refer to anything outside
 * itself.
 */
function passwordsOf(frame: Frame): Promise<string[]> {
  return frame
    .locator("input[type=password]")
    .evaluateAll((inputs) =>
      inputs.map((input) => String((input as { value?: unknown }).value ?? "")),
    );
}
