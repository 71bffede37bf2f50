/** The part of an upstream's error body that may be shown: without secrets, be they whole, cut or spread over several texts. */
import { jsonLines, parseJsonObject } from "portico/provider";
import type { SecretMask } from "./secret-mask.ts";

/** Deeper values are not shown. */
const DEPTH = 50;
const WITHHELD = Buffer.from(
  JSON.stringify({
    error: {
      message:
        "The upstream's message is withheld: its texts together contain a secret of the gateway.",
    },
  }),
);

/** Masked before anybody cuts it short: half a secret would not be recognised. */
export function hiddenBody(body: Buffer, mask: SecretMask): Buffer {
  const hidden = mask.body(body);
  return spells(hidden, mask) ? WITHHELD : hidden;
}

/** Texts of one field that follow each other (the deltas of a stream), all texts in a row, lines without their breaks. */
function spells(body: Buffer, mask: SecretMask): boolean {
  const text = body.toString("utf8");
  const texts = new Map<string, string>();
  const documents = documentsIn(text);
  for (const document of documents) collect(document, "", texts);
  if (documents.length === 0) texts.set("", text.replace(/(["'])\s{0,9}[+,]?\s{0,9}\1|\s+/g, ""));
  for (const joined of texts.values()) if (mask.text(joined) !== joined) return true;
  return false;
}

/** One, one a line, or one an event. */
function documentsIn(text: string): unknown[] {
  const whole = parseJsonObject(text);
  if (whole !== undefined) return [whole];
  return jsonLines(text);
}

function collect(value: unknown, path: string, texts: Map<string, string>, depth = DEPTH): void {
  if (depth === 0) return;
  if (typeof value === "string") {
    for (const of of path === "" ? [""] : ["", path]) texts.set(of, (texts.get(of) ?? "") + value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, `${path}[]`, texts, depth - 1);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      collect(item, `${path}.${key}`, texts, depth - 1);
  }
}
