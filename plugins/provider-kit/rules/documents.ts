/** Rules for documents, as Bedrock's Converse demands them. */
import { eachPart } from "./images.ts";
import { FILLER } from "./texts.ts";
import { eachMessage } from "./tool-ids.ts";
import { isObject } from "../request/is-object.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleMessage } from "../types/rules.ts";

const MAX_NAME_LENGTH = 200;
const NUMBER_LENGTH = 10;
const ALLOWED_NAME = /^[a-zA-Z0-9()[\]-]+(?: [a-zA-Z0-9()[\]-]+)*$/;

/** Converts a file name to an allowed document name: up to 200 of few characters, without two spaces in a row. */
export function documentName(filename: unknown): string {
  const name = typeof filename === "string" ? filename : "";
  if (name.length <= MAX_NAME_LENGTH && ALLOWED_NAME.test(name)) return name;
  const fitted = withoutExtension(name)
    .replace(/[^a-zA-Z0-9\s()[\]-]+/g, "-")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_NAME_LENGTH - NUMBER_LENGTH);
  return fitted === "" ? "document" : fitted;
}

/** Removes the extension of a file name. Nothing is lost, because the format of a document is a separate member. */
function withoutExtension(filename: unknown): string {
  return typeof filename === "string" ? filename.replace(/\.[a-z0-9]{1,5}$/i, "") : "";
}

/** `isDocument` returns true for a file that is sent as a document, and not as an image. */
export function documentNames(isDocument: (file: JsonObject) => boolean): RequestRule {
  return {
    name: "unique-document-names",
    demand:
      "The names of documents must be unique in the conversation, and may contain only letters, digits, spaces, hyphens, parentheses and brackets.",
    remedy:
      "Replaces other characters, and adds a number to a name that an earlier document already has.",
    chat(request, notes) {
      const usedNames = new Set<string>();
      return eachMessage(request, (message, place) =>
        eachPart(message, place, (part, at) => {
          const file = part["file"];
          if (part["type"] !== "file" || !isObject(file) || !isDocument(file)) return part;
          const fitted = documentName(file["filename"]);
          const name = unusedName(fitted, usedNames);
          usedNames.add(name);
          if (name === file["filename"]) return part;
          if (name !== withoutExtension(file["filename"])) notes.change(`${at}.file.filename`);
          return { ...part, file: { ...file, filename: name } };
        }),
      );
    },
  };
}

function unusedName(name: string, usedNames: ReadonlySet<string>): string {
  let unused = name;
  for (let n = 2; usedNames.has(unused); n++)
    unused = `${name.slice(0, MAX_NAME_LENGTH - NUMBER_LENGTH)}-${n}`;
  return unused;
}

/** "A text block must be included when using documents." */
export function textBesideDocuments(isDocument: (file: JsonObject) => boolean): RequestRule {
  return {
    name: "text-beside-document",
    demand: "A message with a document must also contain text.",
    remedy: `Adds the text \`${FILLER}\`.`,
    chat(request, notes) {
      return eachMessage(request, (message, place) => {
        if (!Array.isArray(message.content) || !hasDocument(message, isDocument)) return message;
        if (message.content.some(isText)) return message;
        notes.change(`${place}.content`);
        return { ...message, content: [...message.content, { type: "text", text: FILLER }] };
      });
    },
  };
}

function hasDocument({ content }: RuleMessage, isDocument: (file: JsonObject) => boolean): boolean {
  return (content as unknown[]).some((part) => {
    const file = isObject(part) && part["type"] === "file" ? part["file"] : undefined;
    return isObject(file) && isDocument(file);
  });
}

function isText(part: unknown): boolean {
  const text = isObject(part) ? part["text"] : part;
  return typeof text === "string" && text.trim() !== "";
}
