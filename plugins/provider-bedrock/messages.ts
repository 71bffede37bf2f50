import {
  type AssistantTurn,
  carriedThinking,
  documentName,
  type FilePart,
  hasContent,
  type ImagePart,
  parseDataUrl,
  type Part,
  readImage,
  refused,
  type Target,
  upstreamCallId,
  type UserTurn,
} from "portico/provider";

/** One block of Converse's content. The name of its only member is its kind. */
export type Block = Record<string, unknown>;
interface Message {
  role: "user" | "assistant";
  content: Block[];
}

/** Encodes turns in Converse's form. */
export async function encodeTurns(
  turns: readonly (UserTurn | AssistantTurn)[],
  target: Target,
  origin: string,
): Promise<Message[]> {
  const messages: Message[] = [];
  for (const turn of turns) {
    if (turn.role === "user") {
      messages.push({ role: "user", content: await encodeUserContent(turn, target) });
      continue;
    }
    const calls = turn.calls.flatMap((call) => [
      { toolUse: { toolUseId: upstreamCallId(call.id), name: call.name, input: call.args } },
      ...cachePoint(call.cache),
    ]);
    const content = [
      ...reasoningBlocks(turn, origin),
      ...(await encodeParts(turn.parts, target)),
      ...calls,
    ];
    messages.push({ role: "assistant", content });
  }
  return messages;
}

/** Encodes system texts. A text with a cache mark is followed by a cache point. */
export function encodeSystem(system: readonly { text: string; cache?: unknown }[]): Block[] {
  return system.flatMap(({ text, cache }) => [{ text }, ...cachePoint(cache)]);
}

/** Converts the cache mark of a block to a cache point, which follows the block. `ttl` is the lifetime of the cache. */
export function cachePoint(mark: unknown): Block[] {
  if (mark == null) return [];
  const { ttl } = mark as { ttl?: unknown };
  return [{ cachePoint: { type: "default", ...(typeof ttl === "string" && { ttl }) } }];
}

async function encodeUserContent(turn: UserTurn, target: Target): Promise<Block[]> {
  const results: Block[] = [];
  for (const result of turn.results) {
    const parts = result.parts.filter(hasContent);
    results.push({
      toolResult: {
        toolUseId: upstreamCallId(result.callId),
        content: (await encodeParts(parts, target)).filter((block) => !("cachePoint" in block)),
      },
    });
    // A result cannot contain cache points, so the last mark within it applies to the result itself.
    const lastMarked = parts.findLast((part) => "cache" in part && part.cache !== undefined);
    const innerMark =
      lastMarked !== undefined && "cache" in lastMarked ? lastMarked.cache : undefined;
    results.push(...cachePoint(result.cache ?? innerMark));
  }
  return [...results, ...(await encodeParts(turn.parts, target))];
}

function reasoningBlocks(turn: AssistantTurn, origin: string): Block[] {
  return carriedThinking(turn.extra, origin).map((block) => ({
    reasoningContent:
      "sealed" in block
        ? { redactedContent: block.sealed }
        : { reasoningText: { text: block.text, signature: block.signature } },
  }));
}

/** Encodes parts in order. A cache point follows each part with a cache mark. */
async function encodeParts(parts: readonly Part[], target: Target): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const part of parts) {
    blocks.push(await encodePart(part, target));
    if ("cache" in part) blocks.push(...cachePoint(part.cache));
  }
  return blocks;
}

async function encodePart(part: Part, target: Target): Promise<Block> {
  switch (part.kind) {
    case "text":
      return { text: part.text };
    case "image":
      return encodeImage(part, target);
    case "file":
      return isImageFile(part)
        ? encodeImage({ kind: "image", url: part.data!, path: part.path }, target)
        : encodeDocument(part);
    default:
      throw refused(part.path, "Bedrock's Converse does not accept audio");
  }
}

function isImageFile({ data }: FilePart): boolean {
  return data !== undefined && /^data:image\//i.test(data);
}

const IMAGE_FORMATS: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

async function encodeImage(part: ImagePart, target: Target): Promise<Block> {
  const { mediaType, base64 } = await readImage(part, target);
  const format = IMAGE_FORMATS[mediaType];
  if (format === undefined)
    throw refused(
      `${part.path}.url`,
      "Bedrock accepts only images of type png, jpeg, gif and webp",
    );
  return { image: { format, source: { bytes: base64 } } };
}

const DOCUMENT_FORMATS: Record<string, string> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "application/msword": "doc",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.ms-excel": "xls",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
};

function encodeDocument(part: FilePart): Block {
  if (part.data === undefined)
    throw refused(`${part.path}.file_id`, "Send the file itself in `file_data`, as a data URL");
  const file = parseDataUrl(part.data);
  const format = DOCUMENT_FORMATS[file?.mediaType ?? ""];
  if (file === undefined || format === undefined) {
    throw refused(
      `${part.path}.file_data`,
      `Bedrock accepts only files of type ${Object.values(DOCUMENT_FORMATS).join(", ")}`,
    );
  }
  return {
    document: {
      format,
      // The rules have already made the name unique.
      name: documentName(part.filename),
      source: { bytes: file.data.toString("base64") },
    },
  };
}
