/** How many tokens a request has, as Google counts them. */
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
  const whole = await encodeGenerate(request, target);
  const body = JSON.parse(String(whole.body)) as Record<string, unknown>;
  const { contents, systemInstruction, tools } = body;
  const counted = { contents, systemInstruction, tools };
  const name = `models/${target.model.replace(/^models\//, "")}`;
  // AI Studio counts a whole request; Vertex takes its members.
  const asked = isVertex(target)
    ? counted
    : { generateContentRequest: { model: name, ...counted } };
  return postJson(methodUrl(target, "countTokens"), headersFor(target), asked);
}

/** `{totalTokens}` */
export function decodeCount(body: Buffer): number | undefined {
  const tokens = parseResponse(body)?.totalTokens;
  return typeof tokens === "number" ? tokens : undefined;
}
