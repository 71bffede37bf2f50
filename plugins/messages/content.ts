/** Translates turns of the Messages API into messages of OpenAI's form. */
import {
  type ChatMessage,
  type ContentPart,
  type JsonObject,
  listAt,
  objectAt,
  openExtras,
  optionalBoolean,
  optionalString,
  refused,
  resultText,
  type Said,
  saidMessage,
  sourcePath,
  stringAt,
  stringifyExact,
  type ToolCallPart,
  withSource,
} from "portico/provider";

/** Translates one turn. A user's turn with tool results becomes several messages, the results first. */
export function readTurn(value: unknown, path: string): ChatMessage[] {
  const turn = objectAt(value, path);
  switch (turn.role) {
    case "user":
      return readUser(turn.content, `${path}.content`);
    case "assistant":
      return [withSource(readAssistant(turn.content, `${path}.content`), path)];
    case "system":
      return [
        withSource(
          { role: "system", content: readSystem(turn.content, `${path}.content`) ?? "" },
          path,
        ),
      ];
    default:
      throw refused(`${path}.role`, `\`${path}.role\` must be user or assistant`);
  }
}

/** Returns a system prompt as one text, which every channel accepts; as parts only if one of them has a cache mark. */
export function readSystem(value: unknown, path: string): string | ContentPart[] | undefined {
  if (value == null || typeof value === "string") return value || undefined;
  const parts = listAt(value, path).map((block, i) => {
    const fields = objectAt(block, `${path}[${i}]`);
    if (fields.type !== "text")
      throw refused(`${path}[${i}].type`, "A system prompt may contain only blocks of type text");
    const text = stringAt(fields.text, `${path}[${i}].text`);
    return { type: "text", text, ...markOf(fields) };
  });
  if (parts.some((part) => "cache_control" in part)) return parts;
  return parts.map((part) => part.text).join("\n\n") || undefined;
}

/** Returns the cache mark of a block, a tool or a call. */
export function markOf({ cache_control: mark }: JsonObject): { cache_control?: unknown } {
  return mark == null ? {} : { cache_control: mark };
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
  if (typeof content === "string")
    return [withSource({ role: "user", content }, path.replace(/\.content$/, ""))];
  const results: ChatMessage[] = [];
  const parts: ContentPart[] = [];
  const resultParts: ContentPart[] = [];
  for (const [block, at] of blocksOf(content, path)) {
    if (block.type === "tool_result") results.push(readResult(block, at, resultParts));
    else parts.push(readPart(block, at));
  }
  const all = [...resultParts, ...parts];
  if (all.length > 0) results.push(userMessage(all, path));
  if (results.length === 0) throw refused(path, `\`${path}\` is empty: send at least one block`);
  return results;
}

/** Builds a user message. A single text without a mark becomes a string. */
function userMessage(parts: ContentPart[], path: string): ChatMessage {
  const [only] = parts;
  const isText = parts.length === 1 && only?.type === "text" && only.cache_control === undefined;
  const message = { role: "user", content: isText ? (only.text as string) : parts };
  const messagePath = path.replace(/\.content$/, "");
  return withSource(message, messagePath, isText ? { content: sourcePath(only, "text") } : {});
}

/** Translates a tool result. Its parts that are no text go to `userParts`, for the user's message. */
function readResult(block: JsonObject, path: string, userParts: ContentPart[]): ChatMessage {
  const id = stringAt(block.tool_use_id, `${path}.tool_use_id`);
  const content = block.content ?? "";
  const text =
    typeof content === "string"
      ? content
      : resultText(
          id,
          blocksOf(content, `${path}.content`).map(([part, at]) => readPart(withoutMark(part), at)),
          userParts,
        );
  // A mark on a block of the result applies to the whole result.
  const markedBlock = Array.isArray(content)
    ? content.findLast((part: JsonObject | null) => part?.cache_control != null)
    : undefined;
  const mark = { ...markOf((markedBlock ?? {}) as JsonObject), ...markOf(block) };
  const isFailure =
    optionalBoolean(block.is_error, `${path}.is_error`) === true && !/^\W*error/i.test(text);
  const message = {
    role: "tool",
    tool_call_id: id,
    content: isFailure ? `Error: ${text}` : text,
    ...mark,
  };
  return withSource(message, path, { tool_call_id: `${path}.tool_use_id` });
}

function withoutMark({ cache_control: _, ...block }: JsonObject): JsonObject {
  return block;
}

function readPart(block: JsonObject, path: string): ContentPart {
  switch (block.type) {
    case "text":
      return withSource(
        { type: "text", text: stringAt(block.text, `${path}.text`), ...markOf(block) },
        path,
      );
    case "image":
      return withSource({ ...readImage(block, path), ...markOf(block) }, path, {
        image_url: `${path}.source`,
        "image_url.url": `${path}.source`,
      });
    case "document":
      return withSource({ ...readDocument(block, path), ...markOf(block) }, path, {
        file: `${path}.source`,
        "file.file_data": `${path}.source.data`,
        "file.filename": `${path}.title`,
      });
    default:
      // Anthropic's channels get the whole request unchanged; others refuse the block.
      return withSource({ ...block, type: String(block.type) }, path);
  }
}

function readImage(block: JsonObject, path: string): ContentPart {
  const source = sourceOf(block, path);
  if (source.type === "url") return image(stringAt(source.url, `${path}.source.url`));
  if (source.type === "base64") {
    const mediaType = stringAt(source.media_type, `${path}.source.media_type`);
    return image(`data:${mediaType};base64,${stringAt(source.data, `${path}.source.data`)}`);
  }
  return { ...block, type: "image" };
}

function sourceOf(block: JsonObject, path: string): JsonObject {
  const source = objectAt(block.source, `${path}.source`);
  stringAt(source.type, `${path}.source.type`);
  return source;
}

function image(url: string): ContentPart {
  return { type: "image_url", image_url: { url } };
}

function readDocument(block: JsonObject, path: string): ContentPart {
  const source = sourceOf(block, path);
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
  const turn: Said<ContentPart, ToolCallPart> = {
    content: [],
    calls: [],
    thoughts: [],
    extras: [],
  };
  for (const [block, at] of blocksOf(content, path)) {
    if (block.type === "thinking") turn.thoughts.push(readThought(block, at));
    else if (block.type === "redacted_thinking") turn.extras.push(openExtras(block.data) ?? {});
    else if (block.type === "tool_use") turn.calls.push(readCall(block, at));
    else turn.content.push(readPart(block, at));
  }
  return saidMessage(turn);
}

/** Returns the thinking without its signature, which only Anthropic reads. */
function readThought(block: JsonObject, path: string): string {
  optionalString(block.signature, `${path}.signature`);
  return stringAt(block.thinking, `${path}.thinking`);
}

function readCall(block: JsonObject, path: string): ToolCallPart {
  const name = stringAt(block.name, `${path}.name`);
  const input = block.input == null ? {} : objectAt(block.input, `${path}.input`);
  const call = {
    id: stringAt(block.id, `${path}.id`),
    type: "function",
    function: { name, arguments: stringifyExact(input) },
    ...markOf(block),
  };
  return withSource(call, path, { function: path, "function.arguments": `${path}.input` });
}
