/** Labels images and files with the media type that their first bytes show. */
import { eachMessage } from "./tool-ids.ts";
import { imageType } from "../request/image-type.ts";
import { isObject } from "../request/is-object.ts";
import type { JsonObject } from "../request/read-value.ts";
import type { RequestRule, RuleChat, RuleNotes } from "../types/rules.ts";

/** "The image was specified using the image/png media type, but the image appears to be a image/jpeg image". */
export const imageTypes: RequestRule = {
  name: "image-type",
  demand: "The media type of an image or a file must match its content.",
  remedy:
    "Detects the type from the first bytes (images: PNG, JPEG, GIF, WebP; files: PDF as well), and corrects the media type.",
  chat(request, notes) {
    return eachMessage(request, (message, place) =>
      eachPart(message, place, (part, at) => relabelPart(part, at, notes)),
    );
  },
  messages(request, notes) {
    const changed = eachMessage(request as unknown as RuleChat, (message, place) =>
      eachPart(message, place, (block, at) => relabelBlock(block, at, notes)),
    );
    return changed as unknown as JsonObject;
  },
};

/** Returns the message with each part replaced by the result of `change`; the same message if no part changed. */
export function eachPart<Holder extends { content?: unknown }>(
  holder: Holder,
  place: string,
  change: (part: JsonObject, place: string) => JsonObject,
): Holder {
  const { content } = holder;
  if (!Array.isArray(content)) return holder;
  const parts = content.map((part, i) =>
    isObject(part) ? change(part, `${place}.content[${i}]`) : part,
  );
  return parts.every((part, i) => part === content[i]) ? holder : { ...holder, content: parts };
}

function relabelPart(part: JsonObject, place: string, notes: RuleNotes): JsonObject {
  if (part["type"] === "image_url") {
    const image = part["image_url"];
    const url = isObject(image) ? image["url"] : image;
    const relabelled = relabelUrl(url, typeOfBase64);
    if (relabelled === undefined) return part;
    notes.change(`${place}.image_url.url`);
    return { ...part, image_url: { ...(isObject(image) ? image : undefined), url: relabelled } };
  }
  const file = part["file"];
  if (part["type"] !== "file" || !isObject(file)) return part;
  const data = file["file_data"];
  const relabelled = relabelUrl(data, typeOfFile) ?? urlOfBareFile(data);
  if (relabelled === undefined) return part;
  notes.change(`${place}.file.file_data`);
  return { ...part, file: { ...file, file_data: relabelled } };
}

/** Corrects the type of an image, which may be in a message or in the result of a tool. */
function relabelBlock(block: JsonObject, place: string, notes: RuleNotes): JsonObject {
  if (block["type"] === "tool_result")
    return eachPart(block, place, (part, at) => relabelBlock(part, at, notes));
  const source = block["source"];
  if (block["type"] !== "image" || !isObject(source) || source["type"] !== "base64") return block;
  const type = typeOfBase64(source["data"]);
  if (type === undefined || type === source["media_type"]) return block;
  notes.change(`${place}.source.media_type`);
  return { ...block, source: { ...source, media_type: type } };
}

const DATA_URL_HEAD = /^data:([^,]{0,200}?);\s*base64\s*,/i;
/** The number of characters that contain the first twelve bytes, line breaks included. */
const HEAD_CHARACTERS = 64;

function relabelUrl(url: unknown, typeOf: typeof typeOfBase64): string | undefined {
  const [head, label = ""] = (typeof url === "string" && DATA_URL_HEAD.exec(url)) || [];
  if (head === undefined) return undefined;
  const text = (url as string).slice(head.length);
  const type = typeOf(text);
  const declared = label.split(";")[0]!.trim().toLowerCase();
  if (type === undefined || isSameType(declared, type)) return undefined;
  return `data:${type};base64,${text}`;
}

function isSameType(declared: string, type: string): boolean {
  return declared === type || (type === "image/jpeg" && /^image\/p?jpe?g$/.test(declared));
}

function urlOfBareFile(data: unknown): string | undefined {
  if (typeof data !== "string" || /^[a-z][a-z0-9+.-]*:/i.test(data)) return undefined;
  const type = typeOfFile(data);
  return type === undefined ? undefined : `data:${type};base64,${data}`;
}

function typeOfBase64(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  return imageType(Buffer.from(text.slice(0, HEAD_CHARACTERS), "base64"));
}

/** `%PDF-` in base64. */
// cspell:ignore JVBE
const PDF = /^JVBERi0/;

function typeOfFile(text: unknown): string | undefined {
  const isPdf = typeof text === "string" && PDF.test(text.trimStart());
  return isPdf ? "application/pdf" : typeOfBase64(text);
}
