/** Converts content of the Model Context Protocol for a model: images stay images, everything else becomes text. */

/**
 * A part of a tool's result for a model or a client. An image is a `data:` URL or an address. `isOwn`: the text is the
 * gateway's own and contains nothing from outside.
 */
export type ToolPart =
  | { type: "text"; text: string; isOwn?: boolean }
  | { type: "image"; url: string };

type Json = Record<string, unknown>;

/** The image types that models accept. */
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Converts a result part by part. A result with structured content only becomes one text with its JSON. */
export function mcpParts(result: { content?: unknown; structuredContent?: unknown }): ToolPart[] {
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  const parts = content.flatMap((part) => convertPart(Object(part) as Json));
  if (parts.length > 0 || result.structuredContent === undefined) return parts;
  return [textPart(JSON.stringify(result.structuredContent))];
}

function convertPart(part: Json): ToolPart[] {
  switch (part["type"]) {
    case "text":
      return [textPart(readString(part, "text"))];
    case "image":
      return convertBinary(part["data"], part["mimeType"], "An image");
    case "audio":
      return convertBinary(part["data"], part["mimeType"], "An audio recording");
    case "resource":
      return convertResource(Object(part["resource"]) as Json);
    case "resource_link":
      return [textPart(`[A link to a resource: ${describe(part)}]`)];
    default:
      return [textPart(JSON.stringify(part))];
  }
}

function convertResource(contents: Json): ToolPart[] {
  const label = `Resource ${describe(contents)}`;
  if (typeof contents["text"] === "string") return [textPart(`${label}:\n${contents["text"]}`)];
  const parts = convertBinary(contents["blob"], contents["mimeType"], label);
  return parts[0]?.type === "image" ? [textPart(`${label}:`), ...parts] : parts;
}

/** `label` names the content in the text that replaces it if models cannot see it. */
function convertBinary(data: unknown, mimeType: unknown, label: string): ToolPart[] {
  const base64 = typeof data === "string" ? data : "";
  const type = typeof mimeType === "string" ? mimeType : "unknown type";
  if (base64 !== "" && IMAGE_TYPES.has(type.toLowerCase()))
    return [{ type: "image", url: `data:${type};base64,${base64}` }];
  const bytes = Buffer.byteLength(base64, "base64");
  return [textPart(`[${label}, ${type}, ${bytes} bytes, which cannot be shown here]`)];
}

function describe(part: Json): string {
  const words = ["name", "title", "uri", "mimeType", "description"].map((key) =>
    readString(part, key),
  );
  return [...new Set(words)].filter((word) => word !== "").join(", ");
}

function readString(part: Json, key: string): string {
  const word = part[key];
  return typeof word === "string" ? word : "";
}

function textPart(text: string): ToolPart {
  return { type: "text", text };
}
