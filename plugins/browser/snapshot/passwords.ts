/** What a page shows as dots is not read out: the library tells the values of password fields as those of any other. */
import type { Frame, Page } from "../drivers/playwright.ts";
import { attempt } from "../deadline.ts";
import { type AriaNode, everyNode } from "./aria-node.ts";

/** A frame that is not busy tells its fields within this. */
const FRAME_MS = 1_000;

/** As the library tells a value. */
const plain = (value: string): string => value.replace(/[\s\u200b\u00ad]+/g, " ").trim();

/** Masks the values of password fields in a tree, in all frames and open shadow roots. */
export async function hidePasswords(
  page: Page,
  roots: readonly (AriaNode | string)[],
): Promise<void> {
  const fields = [...everyNode(roots)].filter(({ role, text }) => role === "textbox" && text);
  if (fields.length === 0) return;
  const answers = await Promise.all(
    page.frames().map((frame) => attempt(FRAME_MS, passwordsOf(frame), undefined)),
  );
  // Of a page that does not answer, any field may be one.
  const [top] = answers;
  const values = new Set(answers.flat().map((value) => plain(value ?? "")));
  for (const field of fields)
    if (top === undefined || values.has(plain(field.text!)))
      field.text = "•".repeat(field.text!.length);
}

/** Asked within the page: it can refer to nothing here. */
function passwordsOf(frame: Frame): Promise<string[]> {
  return frame
    .locator("input[type=password]")
    .evaluateAll((inputs) =>
      inputs.map((input) => String((input as { value?: unknown }).value ?? "")),
    );
}
