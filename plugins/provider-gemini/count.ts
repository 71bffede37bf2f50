/** Counts the tokens of a request with Google's own route. */
import {
  type ChatRequest,
  parseResponse,
  postJson,
  type Target,
  type WireRequest,
} from "portico/provider";
import { headersFor, isVertex, methodUrl } from "./address.ts";
import { encodeGenerate } from "./request.ts";

export async function encodeCount(request: ChatRequest, target: Target): Promise<WireRequest> {
  const encoded = await encodeGenerate(request, target);
  const body = JSON.parse(String(encoded.body)) as Record<string, unknown>;
  const { contents, systemInstruction, tools } = body;
  const content = { contents, systemInstruction, tools };
  const name = `models/${target.model.replace(/^models\//, "")}`;
  // AI Studio counts a whole request, Vertex AI only these members.
  const countRequest = isVertex(target)
    ? content
    : { generateContentRequest: { model: name, ...content } };
  return postJson(methodUrl(target, "countTokens"), headersFor(target), countRequest);
}

/** Reads `{totalTokens}`. */
export function decodeCount(body: Buffer): number | undefined {
  const tokens = parseResponse(body)?.totalTokens;
  return typeof tokens === "number" ? tokens : undefined;
}
