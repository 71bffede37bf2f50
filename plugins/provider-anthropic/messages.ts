import {
  alternate,
  type AssistantTurn,
  carriedThinking,
  type ChatMessage,
  type Fields,
  type FilePart,
  hasContent,
  type ImagePart,
  isBrokenLoop,
  parseDataUrl,
  type Part,
  readConversation,
  readImage,
  refused,
  type Target,
  upstreamCallId,
  type UserTurn,
  webImage,
} from "portico/provider";

export interface SystemText {
  text: string;
  cache?: unknown;
}

type Block = Record<string, unknown>;

export interface EncodedTurns {
  system: SystemText[];
  messages: { role: "user" | "assistant"; content: unknown }[];
  brokenLoop: boolean;
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Encodes messages in Anthropic's form. Collects system messages from anywhere in the conversation. */
export async function encodeTurns(
  list: readonly ChatMessage[],
  target: Target,
  origin: string,
  fields: Fields,
): Promise<EncodedTurns> {
  const conversation = readConversation(list);
  for (const path of conversation.dropped) fields.drop(path);
  const { system, turns } = alternate(conversation.turns);
  const messages: EncodedTurns["messages"] = [];
  for (const turn of turns) {
    if (turn.role === "user") {
      messages.push({ role: "user", content: await encodeUserContent(turn, target) });
      continue;
    }
    const thinking = thinkingBlocks(turn, origin);
    const content = await encodeParts(turn.parts, target);
    const calls = turn.calls.map((call) => ({
      type: "tool_use",
      id: upstreamCallId(call.id),
      name: call.name,
      input: call.args,
      cache_control: call.cache,
    }));
    const blocks = [...thinking, ...content, ...calls];
    if (blocks.length > 0) messages.push({ role: "assistant", content: plainText(blocks) });
  }
  return { system, messages, brokenLoop: isBrokenLoop(turns, origin) };
}

async function encodeUserContent(turn: UserTurn, target: Target): Promise<unknown> {
  const results: Block[] = [];
  for (const result of turn.results) {
    const content = await encodeParts(result.parts.filter(hasContent), target);
    results.push({
      type: "tool_result",
      tool_use_id: upstreamCallId(result.callId),
      content: content.length > 0 ? plainText(content) : undefined,
      cache_control: result.cache,
    });
  }
  return plainText([...results, ...(await encodeParts(turn.parts, target))]);
}

/** Shortens content that is a single text to a string, which has the same meaning. */
function plainText(content: Block[]): unknown {
  const only = content.length === 1 ? content[0] : undefined;
  return only?.type === "text" && only.cache_control === undefined ? only.text : content;
}

function thinkingBlocks(turn: AssistantTurn, origin: string): Block[] {
  return carriedThinking(turn.extra, origin).map((block) =>
    "sealed" in block
      ? { type: "redacted_thinking", data: block.sealed }
      : { type: "thinking", thinking: block.text, signature: block.signature },
  );
}

async function encodeParts(parts: readonly Part[], target: Target): Promise<Block[]> {
  const encoded: Block[] = [];
  for (const part of parts) {
    const block = await encodePart(part, target);
    encoded.push({ ...block, cache_control: "cache" in part ? part.cache : undefined });
  }
  return encoded;
}

async function encodePart(part: Part, target: Target): Promise<Block> {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image", source: await imageSource(part, target) };
    case "file":
      return fileBlock(part);
    default:
      throw refused(part.path, "Claude does not accept audio");
  }
}

async function imageSource(part: ImagePart, target: Target): Promise<Block> {
  const url = webImage(part, target);
  if (url !== undefined) return { type: "url", url };
  const { mediaType, base64 } = await readImage(part, target);
  if (!IMAGE_TYPES.includes(mediaType))
    throw refused(
      `${part.path}.url`,
      `Claude accepts only images of type ${IMAGE_TYPES.join(", ")}`,
    );
  return { type: "base64", media_type: mediaType, data: base64 };
}

function fileBlock(part: FilePart): Block {
  if (part.data === undefined)
    throw refused(`${part.path}.file_id`, "Send the file itself in `file_data`, as a data URL");
  const file = part.data.startsWith("data:") ? parseDataUrl(part.data) : pdfOf(part.data);
  const type = file?.mediaType;
  if (file !== undefined && type === "application/pdf") {
    return {
      type: "document",
      source: { type: "base64", media_type: type, data: file.data.toString("base64") },
      title: part.filename,
    };
  }
  if (file !== undefined && type?.startsWith("text/")) {
    return {
      type: "document",
      source: { type: "text", media_type: "text/plain", data: file.data.toString("utf8") },
      title: part.filename,
    };
  }
  if (file !== undefined && type !== undefined && IMAGE_TYPES.includes(type)) {
    return {
      type: "image",
      source: { type: "base64", media_type: type, data: file.data.toString("base64") },
    };
  }
  throw refused(
    `${part.path}.file_data`,
    "Claude accepts only files of type application/pdf, text files and images",
  );
}

function pdfOf(base64: string): { mediaType: string; data: Buffer } | undefined {
  const data = Buffer.from(base64, "base64");
  return data.subarray(0, 5).toString("latin1") === "%PDF-"
    ? { mediaType: "application/pdf", data }
    : undefined;
}
