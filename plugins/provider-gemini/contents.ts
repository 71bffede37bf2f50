import {
  alternate,
  type AssistantTurn,
  carriedSignature,
  type GeminiModel,
  type ImagePart,
  isMintedCallId,
  parseDataUrl,
  type Part,
  readImage,
  refused,
  type ResultPart,
  type Target,
  textOf,
  type Turn,
  upstreamCallId,
  type UserTurn,
  parseCounted,
} from "portico/provider";

type Content = { role: "user" | "model"; parts: Record<string, unknown>[] };

/** Google's placeholder for a missing signature. Gemini 3 refuses calls in the history that have none. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** Encodes turns in Gemini's form. Collects system messages from anywhere in the conversation. */
export async function encodeTurns(
  list: readonly Turn[],
  target: Target,
  model: GeminiModel,
  origin: string,
): Promise<{ system: string[]; contents: Content[] }> {
  const { system, turns } = alternate(list);
  const contents: Content[] = [];
  for (const turn of turns) {
    const parts =
      turn.role === "user"
        ? await userParts(turn, target)
        : await modelParts(turn, target, model, origin);
    contents.push({ role: turn.role === "user" ? "user" : "model", parts });
  }
  return { system: system.map((part) => part.text), contents };
}

async function userParts(turn: UserTurn, target: Target): Promise<Record<string, unknown>[]> {
  const parts: Record<string, unknown>[] = [];
  for (const result of turn.results) {
    parts.push({
      functionResponse: {
        id: upstreamId(result.callId),
        name: result.name,
        response: { output: outputOf(result) },
      },
    });
    for (const part of result.parts)
      if (part.kind !== "text") parts.push(await encodePart(part, target));
  }
  for (const part of turn.parts) parts.push(await encodePart(part, target));
  return parts;
}

async function modelParts(
  turn: AssistantTurn,
  target: Target,
  model: GeminiModel,
  origin: string,
): Promise<Record<string, unknown>[]> {
  const parts: Record<string, unknown>[] = [];
  for (const part of turn.parts) parts.push(await encodePart(part, target));
  for (const [i, call] of turn.calls.entries()) {
    // Only the first of parallel calls is signed.
    const placeholder = i === 0 && model.needsSignatures ? NO_SIGNATURE : undefined;
    const signature = carriedSignature(call.extra, origin) ?? placeholder;
    parts.push({
      functionCall: { id: upstreamId(call.id), name: call.name, args: call.args },
      thoughtSignature: signature,
    });
  }
  return parts;
}

/** Returns the upstream's id of a call; undefined if the upstream has not sent one. */
function upstreamId(id: string): string | undefined {
  return isMintedCallId(id) ? undefined : upstreamCallId(id);
}

/** Returns the result of a tool: parsed if it is a JSON object or list, otherwise as text. */
function outputOf(result: ResultPart): unknown {
  const text = textOf(result.parts);
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseCounted(text);
  } catch {
    return text;
  }
}

async function encodePart(part: Part, target: Target): Promise<Record<string, unknown>> {
  switch (part.kind) {
    case "text":
      return { text: part.text };
    case "image":
      return encodeImage(part, target);
    case "audio":
      return {
        inlineData: {
          mimeType: part.format === "mp3" ? "audio/mp3" : `audio/${part.format}`,
          data: part.data,
        },
      };
    default: {
      if (part.data === undefined) {
        throw refused(`${part.path}.file_id`, "Send the file itself in `file_data`, as a data URL");
      }
      const file = parseDataUrl(part.data);
      if (file === undefined)
        throw refused(`${part.path}.file_data`, "`file_data` must be a data URL");
      return { inlineData: { mimeType: file.mediaType, data: file.data.toString("base64") } };
    }
  }
}

async function encodeImage(part: ImagePart, target: Target): Promise<Record<string, unknown>> {
  // Google itself reads files in its own storage.
  if (/^(gs:|https:\/\/generativelanguage\.googleapis\.com\/.*\/files\/)/.test(part.url)) {
    return { fileData: { fileUri: part.url } };
  }
  const { mediaType, base64 } = await readImage(part, target);
  return { inlineData: { mimeType: mediaType, data: base64 } };
}
