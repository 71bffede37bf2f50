/** Detects whether a document is complete. */
import { TimeSlices } from "../time-slices.ts";
import { isWholeJson } from "./json-text.ts";
import { linesOf } from "./lines.ts";
import { CheckFailed, type Ending, type Form } from "./source.ts";

const MISSING_END: Record<Form, string> = {
  json: "its JSON is incomplete",
  xml: "its XML is incomplete",
  html: "</html> is missing",
};

/**
 * Returns the format of a document and whether it is complete; undefined for other formats. `type` is its declared
 * content type.
 */
export async function detectEnding(text: string, type = ""): Promise<Ending | undefined> {
  const trimmed = text.trim();
  if (/^[{[]/.test(trimmed))
    return { form: "json", isWhole: await isJson(trimmed), isDeclared: /json/i.test(type) };
  if (/^<(!doctype\s+html|html)[\s>]/i.test(trimmed))
    return {
      form: "html",
      isWhole: /<\/html\s*>/i.test(trimmed.slice(-10_000)),
      isDeclared: false,
    };
  // The document ends within its first tag.
  if (
    trimmed !== "" &&
    ["<!doctype html>", "<html>", "<?xml"].some((tag) => tag.startsWith(trimmed.toLowerCase()))
  )
    return { form: "html", isWhole: false, isDeclared: true };
  const isXml = /^<\?xml[\s?]/.test(trimmed) || (/xml/i.test(type) && trimmed.startsWith("<"));
  return isXml ? { form: "xml", isWhole: isClosed(trimmed), isDeclared: true } : undefined;
}

/** Returns whether a text is valid JSON, or consists of lines that are. */
async function isJson(text: string): Promise<boolean> {
  if (isWholeJson(text)) return true;
  if (!text.includes("\n")) return false;
  const slices = new TimeSlices();
  for (const line of linesOf(text)) {
    if (slices.isOver) await slices.pause();
    if (line.trim() !== "" && !isWholeJson(line.trim())) return false;
  }
  return true;
}

/** Returns whether the root element has an end tag, or is a single empty-element tag. */
function isClosed(xml: string): boolean {
  const root = /<([A-Za-z_][^\s/>]*)[^<]*/.exec(xml.slice(0, 100_000));
  if (root === null) return false;
  if (root[0].trimEnd().endsWith("/>")) return true;
  const end = xml.lastIndexOf(`</${root[1]}`);
  return (
    end > root.index &&
    /^\s*>/.test(xml.slice(end + 2 + root[1]!.length, end + 100 + root[1]!.length))
  );
}

/**
 * Throws `CheckFailed` for an incomplete document if its format is declared, or if the previous version was complete in
 * this format.
 */
export function refuseCutOff(ending: Ending | undefined, previousForm: Form | undefined): void {
  if (
    ending === undefined ||
    ending.isWhole ||
    !(ending.isDeclared || ending.form === previousForm)
  )
    return;
  throw new CheckFailed(`The document is cut off: ${MISSING_END[ending.form]}.`);
}
