/** Items of a conversation as messages in OpenAI's chat form. */
import {
  type ChatMessage,
  type ContentPart,
  type JsonObject,
  listAt,
  objectAt,
  onlyText,
  openExtras,
  optionalString,
  refused,
  resultText,
  type Said as SaidOf,
  saidMessage,
  stringAt,
  type ToolCallPart,
} from "portico/chat";

type Said = SaidOf<ContentPart, ToolCallPart>;

/** `pathOf` tells where an item stood in the request, for errors. */
export function readItems(
  items: readonly JsonObject[],
  pathOf: (index: number) => string,
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  let said: Said | undefined;
  /** What results of tools show: it follows them in a message of the user, since theirs hold text only. */
  let shown: ContentPart[] = [];

  const speak = (): Said => {
    endResults();
    said ??= { content: [], calls: [], thoughts: [], extras: [] };
    return said;
  };
  const endSaid = () => {
    if (said !== undefined && !onlyThought(said)) messages.push(saidMessage(said));
    said = undefined;
  };
  const endResults = () => {
    if (shown.length > 0) messages.push({ role: "user", content: shown });
    shown = [];
  };

  for (const [i, item] of items.entries()) {
    const path = pathOf(i);
    const type = item.type ?? (item.role === undefined ? undefined : "message");
    switch (type) {
      case "message":
        if (item.role === "assistant") addAssistant(speak(), item, path);
        else {
          endSaid();
          endResults();
          messages.push(readMessage(item, path));
        }
        break;
      case "reasoning":
        addReasoning(speak(), item);
        break;
      case "function_call":
        speak().calls.push(readCall(item, path));
        break;
      case "custom_tool_call":
        speak().calls.push(readCustomCall(item, path));
        break;
      case "function_call_output":
      case "custom_tool_call_output":
        endSaid();
        messages.push(readResult(item, path, shown));
        break;
      default:
        throw refused(
          `${path}.type`,
          `Items of type ${JSON.stringify(item.type ?? null)} are not supported here`,
        );
    }
  }
  endSaid();
  endResults();
  return messages;
}

/** Reasoning on its own says nothing to a model. */
function onlyThought({ content, calls, refusal }: Said): boolean {
  return content.length === 0 && calls.length === 0 && refusal === undefined;
}

const ROLES = ["user", "system", "developer"];

function readMessage(item: JsonObject, path: string): ChatMessage {
  const role = stringAt(item.role, `${path}.role`);
  if (!ROLES.includes(role)) {
    throw refused(`${path}.role`, `\`${path}.role\` must be user, assistant, system or developer`);
  }
  const parts = readParts(item.content, `${path}.content`);
  if (typeof parts === "string") return { role, content: parts };
  const texts = role !== "user" || parts.length === 1 ? onlyText(parts) : undefined;
  return { role, content: texts ?? parts };
}

function addAssistant(said: Said, item: JsonObject, path: string): void {
  const parts = readParts(item.content, `${path}.content`);
  if (typeof parts === "string") said.content.push({ type: "text", text: parts });
  else {
    for (const part of parts) {
      if (part.type === "refusal")
        said.refusal = said.refusal
          ? `${said.refusal}\n${part["refusal"]}`
          : String(part["refusal"]);
      else said.content.push(part);
    }
  }
}

function readParts(content: unknown, path: string): string | ContentPart[] {
  if (typeof content === "string") return content;
  return listAt(content, path).map((value, i) =>
    readPart(objectAt(value, `${path}[${i}]`), `${path}[${i}]`),
  );
}

function readPart(part: JsonObject, path: string): ContentPart {
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: stringAt(part.text, `${path}.text`) };
    case "refusal":
      return { type: "refusal", refusal: stringAt(part.refusal, `${path}.refusal`) };
    case "input_image": {
      if (part.image_url == null)
        throw refused(`${path}.image_url`, "Send the image itself in image_url");
      const detail = optionalString(part.detail, `${path}.detail`);
      const url = stringAt(part.image_url, `${path}.image_url`);
      return { type: "image_url", image_url: { url, detail } };
    }
    case "input_file": {
      if (part.file_data == null)
        throw refused(`${path}.file_data`, "Send the file itself in file_data as a data URL");
      const filename = optionalString(part.filename, `${path}.filename`) ?? "file.pdf";
      return {
        type: "file",
        file: { filename, file_data: stringAt(part.file_data, `${path}.file_data`) },
      };
    }
    case "input_audio":
      return {
        type: "input_audio",
        input_audio: objectAt(part.input_audio, `${path}.input_audio`),
      };
    default:
      throw refused(
        `${path}.type`,
        `Content of type ${JSON.stringify(part.type ?? null)} is not supported here`,
      );
  }
}

function addReasoning(said: Said, item: JsonObject): void {
  for (const list of [item.summary, item.content]) {
    for (const part of Array.isArray(list) ? (list as JsonObject[]) : []) {
      if (typeof part?.text === "string") said.thoughts.push(part.text);
    }
  }
  const extras = openExtras(item.encrypted_content);
  if (extras !== undefined) said.extras.push(extras);
}

function readCall(item: JsonObject, path: string): ToolCallPart {
  return {
    id: stringAt(item.call_id, `${path}.call_id`),
    type: "function",
    function: {
      name: stringAt(item.name, `${path}.name`),
      arguments: stringAt(item.arguments, `${path}.arguments`),
    },
  };
}

function readCustomCall(item: JsonObject, path: string): ToolCallPart {
  const input = stringAt(item.input, `${path}.input`);
  return {
    id: stringAt(item.call_id, `${path}.call_id`),
    type: "function",
    function: { name: stringAt(item.name, `${path}.name`), arguments: JSON.stringify({ input }) },
  };
}

function readResult(item: JsonObject, path: string, shown: ContentPart[]): ChatMessage {
  const id = stringAt(item.call_id, `${path}.call_id`);
  const output = readParts(item.output, `${path}.output`);
  const content = typeof output === "string" ? output : resultText(id, output, shown);
  return { role: "tool", tool_call_id: id, content };
}
