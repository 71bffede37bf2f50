/** Turns of the Messages API as messages in OpenAI's form. */
import {
  type ChatMessage,
  type ContentPart,
  type Extras,
  type JsonObject,
  listAt,
  objectAt,
  openExtras,
  optionalString,
  refused,
  stringAt,
  type ToolCallPart,
  withExtras,
} from "portico";

/** One turn; a user's turn with results of tools becomes several messages, the results first. */
export function readTurn(value: unknown, path: string): ChatMessage[] {
  const turn = objectAt(value, path);
  switch (turn.role) {
    case "user":
      return readUser(turn.content, `${path}.content`);
    case "assistant":
      return [readAssistant(turn.content, `${path}.content`)];
    case "system":
      return [{ role: "system", content: textOfSystem(turn.content, `${path}.content`) ?? "" }];
    default:
      throw refused(`${path}.role`, `\`${path}.role\` must be user or assistant`);
  }
}

/** A system prompt as one text: every channel takes that. */
export function textOfSystem(value: unknown, path: string): string | undefined {
  if (value == null || typeof value === "string") return value || undefined;
  const texts = listAt(value, path).map((block, i) => {
    const { type, text } = objectAt(block, `${path}[${i}]`);
    if (type !== "text") throw refused(`${path}[${i}].type`, "A system prompt holds blocks of type text only");
    return stringAt(text, `${path}[${i}].text`);
  });
  return texts.join("\n\n") || undefined;
}

function blocksOf(value: unknown, path: string): [JsonObject, string][] {
  return listAt(value, path).map((block, i) => {
    const at = `${path}[${i}]`;
    const fields = objectAt(block, at);
    stringAt(fields.type, `${at}.type`);
    return [fields, at];
  });
}

function readUser(content: unknown, path: string): ChatMessage[] {
  if (typeof content === "string") return [{ role: "user", content }];
  const results: ChatMessage[] = [];
  const parts: ContentPart[] = [];
  const shown: ContentPart[] = [];
  for (const [block, at] of blocksOf(content, path)) {
    if (block.type === "tool_result") results.push(readResult(block, at, shown));
    else parts.push(readPart(block, at));
  }
  const all = [...shown, ...parts];
  const only = all.length === 1 ? all[0] : undefined;
  if (all.length > 0) results.push({ role: "user", content: only?.type === "text" ? (only.text as string) : all });
  if (results.length === 0) throw refused(path, `\`${path}\` is empty: give at least one block`);
  return results;
}

/** The texts of a result; its other parts go to `shown`, for the user's message: a tool's message holds text only. */
function readResult(block: JsonObject, path: string, shown: ContentPart[]): ChatMessage {
  const id = stringAt(block.tool_use_id, `${path}.tool_use_id`);
  const texts: string[] = [];
  if (typeof block.content === "string") texts.push(block.content);
  else if (block.content != null) {
    const parts = blocksOf(block.content, `${path}.content`).map(([part, at]) => readPart(part, at));
    const others = parts.filter((part) => part.type !== "text");
    texts.push(...parts.flatMap((part) => (part.type === "text" ? [part.text as string] : [])));
    if (others.length > 0) shown.push({ type: "text", text: `From the result of the tool call ${id}:` }, ...others);
    if (texts.length === 0 && others.length > 0) texts.push("(The result is shown in the next message.)");
  }
  const text = texts.join("\n");
  const failed = block.is_error === true && !/^\W*error/i.test(text);
  return { role: "tool", tool_call_id: id, content: failed ? `Error: ${text}` : text };
}

function readPart(block: JsonObject, path: string): ContentPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: stringAt(block.text, `${path}.text`) };
    case "image":
      return readImage(block, path);
    case "document":
      return readDocument(block, path);
    default:
      // A channel of Anthropic's gets the whole request as it is; others say what they do not take.
      return { ...block, type: String(block.type) };
  }
}

function readImage(block: JsonObject, path: string): ContentPart {
  const source = objectAt(block.source, `${path}.source`);
  if (source.type === "url") return image(stringAt(source.url, `${path}.source.url`));
  if (source.type === "base64") {
    const mediaType = stringAt(source.media_type, `${path}.source.media_type`);
    return image(`data:${mediaType};base64,${stringAt(source.data, `${path}.source.data`)}`);
  }
  return { ...block, type: "image" };
}

function image(url: string): ContentPart {
  return { type: "image_url", image_url: { url } };
}

function readDocument(block: JsonObject, path: string): ContentPart {
  const source = objectAt(block.source, `${path}.source`);
  const title = optionalString(block.title, `${path}.title`);
  if (source.type === "text") {
    const text = stringAt(source.data, `${path}.source.data`);
    return { type: "text", text: title === undefined ? text : `${title}\n\n${text}` };
  }
  if (source.type !== "base64") return { ...block, type: "document" };
  const mediaType = stringAt(source.media_type, `${path}.source.media_type`);
  const data = `data:${mediaType};base64,${stringAt(source.data, `${path}.source.data`)}`;
  return { type: "file", file: { filename: title ?? "document.pdf", file_data: data } };
}

function readAssistant(content: unknown, path: string): ChatMessage {
  if (typeof content === "string") return { role: "assistant", content };
  const parts: ContentPart[] = [];
  const calls: ToolCallPart[] = [];
  const thoughts: string[] = [];
  const extras: Extras[] = [];
  for (const [block, at] of blocksOf(content, path)) {
    if (block.type === "thinking") thoughts.push(stringAt(block.thinking, `${at}.thinking`));
    else if (block.type === "redacted_thinking") extras.push(openExtras(block.data) ?? {});
    else if (block.type === "tool_use") calls.push(readCall(block, at));
    else parts.push(readPart(block, at));
  }
  const extra = extras.find((one) => one.message !== undefined)?.message;
  const text = parts.every((part) => part.type === "text") ? parts.map((part) => part.text).join("\n") : parts;
  return {
    role: "assistant",
    content: parts.length === 0 && calls.length > 0 ? null : text,
    // Within a loop of calls some models want to see it again; later none does.
    ...(thoughts.length > 0 && calls.length > 0 && { reasoning_content: thoughts.join("\n") }),
    ...(calls.length > 0 && { tool_calls: calls.map((call) => withExtras(call, extras)) }),
    ...(extra !== undefined && { extra_content: extra }),
  };
}

function readCall(block: JsonObject, path: string): ToolCallPart {
  const name = stringAt(block.name, `${path}.name`);
  const input = block.input == null ? {} : objectAt(block.input, `${path}.input`);
  return {
    id: stringAt(block.id, `${path}.id`),
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  };
}
