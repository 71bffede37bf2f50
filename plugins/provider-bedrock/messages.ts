import {
  type AssistantTurn,
  carriedThinking,
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
} from "portico/chat";

type Block = Record<string, unknown>;
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
    const calls = turn.calls.map((call) => ({
      toolUse: { toolUseId: upstreamCallId(call.id), name: call.name, input: call.args },
    }));
    const content = [
      ...reasoningBlocks(turn, origin),
      ...(await blocks(turn.parts, target)),
      ...calls,
    ];
    messages.push({ role: "assistant", content });
  }
  return messages;
}

async function userContent(turn: UserTurn, target: Target): Promise<Block[]> {
  const results: Block[] = [];
  for (const result of turn.results) {
    const parts = result.parts.filter(hasContent);
    results.push({
      toolResult: {
        toolUseId: upstreamCallId(result.callId),
        content: await blocks(parts, target),
      },
    });
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
    if (part.kind === "text") out.push({ text: part.text });
    else if (part.kind === "image") out.push(await image(part, target));
    else if (part.kind === "file") out.push(document(part, out.length));
    else throw refused(part.path, "Bedrock's Converse does not take audio");
    if ("cache" in part && part.cache !== undefined) out.push({ cachePoint: { type: "default" } });
  }
  return out;
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
    throw refused(`${part.path}.url`, "Bedrock takes images of type png, jpeg, gif and webp");
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

/** Less than the 200 that are allowed: its place follows. */
const LONGEST_NAME = 190;

function document(part: FilePart, place: number): Block {
  if (part.data === undefined)
    throw refused(`${part.path}.file_id`, "Send the file itself in file_data as a data URL");
  const file = parseDataUrl(part.data);
  const format = DOCUMENTS[file?.mediaType ?? ""];
  if (file === undefined || format === undefined) {
    throw refused(
      `${part.path}.file_data`,
      `Bedrock takes files of type ${Object.values(DOCUMENTS).join(", ")}`,
    );
  }
  // Names may hold few characters and no two spaces in a row, and no two documents of a message the same one.
  const name = (part.filename ?? "")
    .replace(/\.[a-z]+$/i, "")
    .replace(/[^a-zA-Z0-9\s()[\]-]+/g, "-")
    .replace(/\s+/g, " ")
    .slice(0, LONGEST_NAME);
  return {
    document: {
      format,
      name: `${name || "document"}-${place + 1}`,
      source: { bytes: file.data.toString("base64") },
    },
  };
}
