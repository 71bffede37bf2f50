/** Checks of requests that providers perform. Each throws the provider's own message. */
import { need } from "./dialect.ts";

/** Strict JSON parsers refuse an escape that is half of a surrogate pair. */
export function needWellFormed(body: unknown): void {
  const isLone = /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F][0-9a-fA-F]{2}/.test(JSON.stringify(body));
  need(!isLone, "The request body is not valid JSON: no low surrogate in string");
}

/** `usedIds` holds the ids of the preceding calls. */
export function needUniqueId(id: string, usedIds: Set<string>): void {
  need(!usedIds.has(id), `\`tool_use\` ids must be unique: ${id}`);
  usedIds.add(id);
}

export function needToolSchema(schema: any): void {
  need(schema?.type === "object", 'input_schema.type: Input should be "object"');
  for (const key of ["oneOf", "allOf", "anyOf", "$ref"])
    need(!(key in schema), `input_schema does not support ${key} at the top level`);
  const isMap = schema.properties === undefined || isPlainObject(schema.properties);
  need(isMap, "input_schema.properties: Input should be an object");
  const text = JSON.stringify(schema);
  need(
    !/"(?:type|properties|required|items|enum)":null/.test(text),
    "a keyword of the schema is null",
  );
}

/** Compares the media type with the content of an image, if its kind is one that all providers know. */
export function needImageType(mediaType: string, base64: string): void {
  const head = Buffer.from(base64, "base64").toString("latin1", 0, 12);
  const kinds: [string, boolean][] = [
    ["image/png", head.startsWith("\x89PNG")],
    ["image/jpeg", head.startsWith("\xff\xd8\xff")],
    ["image/gif", head.startsWith("GIF8")],
    ["image/webp", head.startsWith("RIFF") && head.slice(8) === "WEBP"],
  ];
  const kind = kinds.find(([, matches]) => matches)?.[0] ?? mediaType;
  need(
    kind === mediaType,
    `The image was specified using the ${mediaType} media type, but the image appears to be a ${kind} image`,
  );
}

/** `lastRole` is the role of the last message. */
export function needNoPrefill(model: string, lastRole: string): void {
  const isNew = /claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.][6-9]|[5-9])/.test(model);
  need(
    !isNew || lastRole !== "assistant",
    "This model does not support assistant message prefill. The conversation must end with a user message.",
  );
}

/** Checks Mistral's order of roles, whose error code is 3230. */
export function needMistralOrder(messages: { role: string; prefix?: boolean }[]): void {
  const allowed: Record<string, string[]> = {
    system: ["user", "assistant", "system"],
    user: ["assistant", "system", "user"],
    assistant: ["assistant", "user", "tool"],
    tool: ["assistant", "tool"],
  };
  for (const [i, { role }] of messages.entries()) {
    const previousRole = messages[i - 1]?.role;
    if (previousRole === undefined) continue;
    need(
      allowed[previousRole]?.includes(role),
      `Unexpected role '${role}' after role '${previousRole}'`,
    );
  }
  const last = messages.at(-1)!;
  need(
    messages.every((message) => message === last || message.prefix !== true),
    "Assistant message with prefix True must be last message",
  );
  need(
    last.role !== "assistant" || last.prefix === true,
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
  );
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
