/** Removes secrets from an upstream's error body, also those that are cut or spread over several texts. */
import { jsonLines, parseJsonObject } from "portico/provider";
import type { SecretMask } from "./secret-mask.ts";

/** The check for secrets that are spread over several texts reads no deeper than this. */
const DEPTH = 50;
const WITHHELD = Buffer.from(
  JSON.stringify({
    error: {
      message:
        "The upstream's message is withheld: its texts together contain a secret of the gateway.",
    },
  }),
);

/**
 * Returns the body with every secret masked, or a placeholder if its texts spell a secret together. Call it before the
 * body is cut short: half a secret would not be recognised.
 */
export function hiddenBody(body: Buffer, mask: SecretMask): Buffer {
  const hidden = mask.body(body);
  return spellsSecret(hidden, mask) ? WITHHELD : hidden;
}

/**
 * Checks the joined texts of each field (the deltas of a stream), all texts joined, or a text that is no JSON without
 * its white space.
 */
function spellsSecret(body: Buffer, mask: SecretMask): boolean {
  const text = body.toString("utf8");
  const texts = new Map<string, string>();
  const documents = documentsIn(text);
  for (const document of documents) collect(document, "", texts);
  if (documents.length === 0) texts.set("", text.replace(/(["'])\s{0,9}[+,]?\s{0,9}\1|\s+/g, ""));
  for (const joined of texts.values()) if (mask.text(joined) !== joined) return true;
  return false;
}

/** Parses a text that is one JSON object, or that has one in each line or event. */
function documentsIn(text: string): unknown[] {
  const whole = parseJsonObject(text);
  if (whole !== undefined) return [whole];
  return jsonLines(text);
}

function collect(value: unknown, path: string, texts: Map<string, string>, depth = DEPTH): void {
  if (depth === 0) return;
  if (typeof value === "string") {
    const keys = path === "" ? [""] : ["", path];
    for (const key of keys) texts.set(key, (texts.get(key) ?? "") + value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, `${path}[]`, texts, depth - 1);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      collect(item, `${path}.${key}`, texts, depth - 1);
  }
}
