/** Content of the Model Context Protocol as a model gets it: pictures as pictures, everything else in words. */

/**
 * What a tool answered, as it goes to a model or a client; an image as `data:` or as an address. `isOwn`: the gateway's
 * own words, with nothing in them that came from outside.
 */
export type ToolPart =
  | { type: "text"; text: string; isOwn?: boolean }
  | { type: "image"; url: string };

type Json = Record<string, unknown>;

/** What models take as a picture. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Part by part. A result that has structured content alone is that, as JSON. */
export function mcpParts(result: { content?: unknown; structuredContent?: unknown }): ToolPart[] {
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  const parts = content.flatMap((part) => partsOf(Object(part) as Json));
  if (parts.length > 0 || result.structuredContent === undefined) return parts;
  return [textPart(JSON.stringify(result.structuredContent))];
}

function partsOf(part: Json): ToolPart[] {
  switch (part["type"]) {
    case "text":
      return [textPart(wordOf(part, "text"))];
    case "image":
      return binary(part["data"], part["mimeType"], "An image");
    case "audio":
      return binary(part["data"], part["mimeType"], "An audio recording");
    case "resource":
      return resource(Object(part["resource"]) as Json);
    case "resource_link":
      return [textPart(`[A link to a resource: ${describe(part)}]`)];
    default:
      return [textPart(JSON.stringify(part))];
  }
}

function resource(contents: Json): ToolPart[] {
  const label = `Resource ${describe(contents)}`;
  if (typeof contents["text"] === "string") return [textPart(`${label}:\n${contents["text"]}`)];
  const parts = binary(contents["blob"], contents["mimeType"], label);
  return parts[0]?.type === "image" ? [textPart(`${label}:`), ...parts] : parts;
}

/** `label`: what it is called where no model can see it. */
function binary(data: unknown, mimeType: unknown, label: string): ToolPart[] {
  const base64 = typeof data === "string" ? data : "";
  const type = typeof mimeType === "string" ? mimeType : "unknown type";
  if (base64 !== "" && PICTURES.has(type.toLowerCase()))
    return [{ type: "image", url: `data:${type};base64,${base64}` }];
  const bytes = Buffer.byteLength(base64, "base64");
  return [textPart(`[${label}, ${type}, ${bytes} bytes, which cannot be shown here]`)];
}

function describe(part: Json): string {
  const words = ["name", "title", "uri", "mimeType", "description"].map((key) => wordOf(part, key));
  return [...new Set(words)].filter((word) => word !== "").join(", ");
}

function wordOf(part: Json, key: string): string {
  const word = part[key];
  return typeof word === "string" ? word : "";
}

function textPart(text: string): ToolPart {
  return { type: "text", text };
}
