/** Whether a document that is one text is there to its end. */
import { TimeSlices } from "../time-slices.ts";
import { isWholeJson } from "./json-text.ts";
import { linesOf } from "./lines.ts";
import { CheckFailed, type Ending, type Form } from "./source.ts";

const END: Record<Form, string> = {
  json: "its JSON does not end",
  xml: "its XML does not end",
  html: "</html> is missing",
};

/** `type`: what its sender, or its name, says that it is. */
export async function endingOf(text: string, type = ""): Promise<Ending | undefined> {
  const trimmed = text.trim();
  if (/^[{[]/.test(trimmed))
    return { form: "json", isWhole: await isJson(trimmed), isSaid: /json/i.test(type) };
  if (/^<(!doctype\s+html|html)[\s>]/i.test(trimmed))
    return { form: "html", isWhole: /<\/html\s*>/i.test(trimmed.slice(-10_000)), isSaid: false };
  // Nothing but the beginning of a beginning.
  if (
    trimmed !== "" &&
    ["<!doctype html>", "<html>", "<?xml"].some((tag) => tag.startsWith(trimmed.toLowerCase()))
  )
    return { form: "html", isWhole: false, isSaid: true };
  const isXml = /^<\?xml[\s?]/.test(trimmed) || (/xml/i.test(type) && trimmed.startsWith("<"));
  return isXml ? { form: "xml", isWhole: isClosed(trimmed), isSaid: true } : undefined;
}

/** Also lines that are JSON each. */
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

/** True where the root element has its end tag, or is nothing but one tag. */
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

/** Throws `CheckFailed` where a document was cut off: it does not end as it is said to, or as it did before. */
export function refuseCutOff(ending: Ending | undefined, before: Form | undefined): void {
  if (ending === undefined || ending.isWhole || !(ending.isSaid || ending.form === before)) return;
  throw new CheckFailed(`The document is cut off: ${END[ending.form]}.`);
}
