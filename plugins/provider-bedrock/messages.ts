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

/** One block of Converse's content; its only member names its kind. */
export type Block = Record<string, unknown>;
interface Message {
  role: "user" | "assistant";
  content: Block[];
}

/** Turns in Converse's form. */
export async function encodeTurns(
  turns: readonly (UserTurn | AssistantTurn)[],
  target: Target,
  origin: string,
): Promise<Message[]> {
  const messages: Message[] = [];
  for (const turn of turns) {
    if (turn.role === "user") {
      messages.push({ role: "user", content: await userContent(turn, target) });
      continue;
    }
    const calls = turn.calls.flatMap((call) => [
      { toolUse: { toolUseId: upstreamCallId(call.id), name: call.name, input: call.args } },
      ...cachePoint(call.cache),
    ]);
    const content = [
      ...reasoningBlocks(turn, origin),
      ...(await blocks(turn.parts, target)),
      ...calls,
    ];
    messages.push({ role: "assistant", content });
  }
  return messages;
}

/** System texts, each with the cache point that its mark asks for. */
export function encodeSystem(system: readonly { text: string; cache?: unknown }[]): Block[] {
  return system.flatMap(({ text, cache }) => [{ text }, ...cachePoint(cache)]);
}

/** A mark on a block becomes a point behind it; `ttl` is the lifetime of the cache. */
export function cachePoint(mark: unknown): Block[] {
  if (mark == null) return [];
  const { ttl } = mark as { ttl?: unknown };
  return [{ cachePoint: { type: "default", ...(typeof ttl === "string" && { ttl }) } }];
}

async function userContent(turn: UserTurn, target: Target): Promise<Block[]> {
  const results: Block[] = [];
  for (const result of turn.results) {
    const parts = result.parts.filter(hasContent);
    results.push({
      toolResult: {
        toolUseId: upstreamCallId(result.callId),
        content: (await blocks(parts, target)).filter((block) => !("cachePoint" in block)),
      },
    });
    // A result holds no points: the last mark within it is one on the result itself.
    const marked = parts.findLast((part) => "cache" in part && part.cache !== undefined);
    const within = marked !== undefined && "cache" in marked ? marked.cache : undefined;
    results.push(...cachePoint(result.cache ?? within));
  }
  return [...results, ...(await blocks(turn.parts, target))];
}

function reasoningBlocks(turn: AssistantTurn, origin: string): Block[] {
  return carriedThinking(turn.extra, origin).map((block) => ({
    reasoningContent:
      "sealed" in block
        ? { redactedContent: block.sealed }
        : { reasoningText: { text: block.text, signature: block.signature } },
  }));
}

/** Parts in order; a cache mark becomes a point behind its part. */
async function blocks(parts: readonly Part[], target: Target): Promise<Block[]> {
  const out: Block[] = [];
  for (const part of parts) {
    out.push(await encodePart(part, target));
    if ("cache" in part) out.push(...cachePoint(part.cache));
  }
  return out;
}

async function encodePart(part: Part, target: Target): Promise<Block> {
  switch (part.kind) {
    case "text":
      return { text: part.text };
    case "image":
      return image(part, target);
    case "file":
      return isImageFile(part)
        ? image({ kind: "image", url: part.data!, path: part.path }, target)
        : document(part);
    default:
      throw refused(part.path, "Bedrock's Converse does not accept audio");
  }
}

function isImageFile({ data }: FilePart): boolean {
  return data !== undefined && /^data:image\//i.test(data);
}

const IMAGES: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};

async function image(part: ImagePart, target: Target): Promise<Block> {
  const { mediaType, base64 } = await readImage(part, target);
  const format = IMAGES[mediaType];
  if (format === undefined)
    throw refused(`${part.path}.url`, "Bedrock accepts images of type png, jpeg, gif and webp");
  return { image: { format, source: { bytes: base64 } } };
}

const DOCUMENTS: Record<string, string> = {
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

function document(part: FilePart): Block {
  if (part.data === undefined)
    throw refused(`${part.path}.file_id`, "Send the file itself in file_data as a data URL");
  const file = parseDataUrl(part.data);
  const format = DOCUMENTS[file?.mediaType ?? ""];
  if (file === undefined || format === undefined) {
    throw refused(
      `${part.path}.file_data`,
      `Bedrock accepts files of type ${Object.values(DOCUMENTS).join(", ")}`,
    );
  }
  return {
    document: {
      format,
      // The rules have made the name unique.
      name: documentName(part.filename),
      source: { bytes: file.data.toString("base64") },
    },
  };
}
