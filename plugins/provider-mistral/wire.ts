import {
  bearerHeaders,
  errorInResponse,
  parseObject,
  readModelList,
  type Target,
  type WireProvider,
  type WireRequest,
} from "portico/chat";
import { decodeAnswer } from "./answer.ts";
import { readProblem } from "./problem.ts";
import { encodeChat } from "./request.ts";
import { decodeStream } from "./stream.ts";

/** OpenAI's form to Mistral's, which is near it but strict, and back. */
export const mistral: WireProvider = {
  encode: encodeChat,
  decode: decodeAnswer,
  decoder: decodeStream,
  error: (status, _headers, body) => readProblem(status, body),
  listModels: {
    encode: (target) => ({
      method: "GET",
      url: `${target.baseUrl}/v1/models`,
      headers: bearerHeaders(target),
      dropped: [],
    }),
    decode: readModelList,
  },
  embeddings: { encode: encodeEmbeddings, decode: decodeEmbeddings },
};

function encodeEmbeddings(request: Record<string, unknown>, target: Target): WireRequest {
  const { input, dimensions } = request;
  return {
    method: "POST",
    url: `${target.baseUrl}/v1/embeddings`,
    headers: { ...bearerHeaders(target), "content-type": "application/json" },
    body: JSON.stringify({
      model: target.model,
      input,
      ...(typeof dimensions === "number" && { output_dimension: dimensions }),
    }),
    dropped: typeof request.user === "string" ? ["user"] : [],
  };
}

function decodeEmbeddings(body: Buffer): Record<string, unknown> {
  const answer = parseObject(body);
  if (!Array.isArray(answer?.data)) throw errorInResponse(readProblem(200, body));
  return answer;
}
