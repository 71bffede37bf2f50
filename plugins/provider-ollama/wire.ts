import {
  besideEmbeddings,
  bearerHeaders,
  forwardRoutes,
  parseResponse,
  postJson,
  readModelEntries,
  readOpenAiProblem,
  refused,
  type Target,
  upstreamError,
  type WireProvider,
  type WireRequest,
} from "portico/provider";
import { decodeResponse } from "./response.ts";
import { encodeChat } from "./request.ts";
import { ollamaRules } from "./rules.ts";
import { decodeStream } from "./stream.ts";

/** Translates between OpenAI's form and `/api/chat`. */
export const ollama: WireProvider = {
  rules: ollamaRules,
  encode: encodeChat,
  decode: decodeResponse,
  parts: decodeStream,
  error: (status, _headers, body) => readOpenAiProblem(status, body),
  listModels: {
    encode: (target) => ({
      method: "GET",
      url: `${target.baseUrl}/api/tags`,
      headers: bearerHeaders(target),
      dropped: [],
    }),
    decode: decodeModelList,
  },
  routes: forwardRoutes(["completions"], (route, target) => ({
    url: `${target.baseUrl}/v1/${route}`,
    headers: bearerHeaders(target),
  })),
  embeddings: { encode: encodeEmbed, decode: decodeEmbed },
};

function decodeModelList(body: Buffer): string[] {
  const entries = readModelEntries(body, ["models"]);
  return entries.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
}

function encodeEmbed(request: Record<string, unknown>, target: Target): WireRequest {
  const input = Array.isArray(request.input) ? request.input : [request.input];
  if (!input.every((text) => typeof text === "string")) {
    throw refused("input", "`input` must be a string or a list of strings");
  }
  const dimensions = typeof request.dimensions === "number" ? request.dimensions : undefined;
  const dropped = besideEmbeddings(request);
  return postJson(
    `${target.baseUrl}/api/embed`,
    bearerHeaders(target),
    { model: target.model, input, dimensions },
    { dropped },
  );
}

function decodeEmbed(body: Buffer, _sent: WireRequest, target: Target): Record<string, unknown> {
  const response = parseResponse(body) as
    | { embeddings?: number[][]; prompt_eval_count?: number }
    | undefined;
  if (!Array.isArray(response?.embeddings)) {
    throw upstreamError({ ...readOpenAiProblem(200, body), kind: "upstream" }, 200);
  }
  const data = response.embeddings.map((values, index) => ({
    object: "embedding",
    index,
    embedding: values,
  }));
  const tokens = response.prompt_eval_count;
  const usage = tokens === undefined ? undefined : { prompt_tokens: tokens, total_tokens: tokens };
  return { object: "list", data, model: target.model, usage };
}
