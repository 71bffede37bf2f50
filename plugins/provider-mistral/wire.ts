import {
  besideEmbeddings,
  bearerHeaders,
  errorInResponse,
  parseResponse,
  postJson,
  readModelList,
  type Target,
  type WireProvider,
  type WireRequest,
} from "portico/provider";
import { decodeResponse } from "./response.ts";
import { readProblem } from "./problem.ts";
import { encodeChat } from "./request.ts";
import { routes } from "./routes.ts";
import { mistralRules } from "./rules.ts";
import { decodeStream } from "./stream.ts";

/** Translates between OpenAI's form and Mistral's, which is similar but strict. */
export const mistral: WireProvider = {
  rules: mistralRules,
  encode: encodeChat,
  decode: decodeResponse,
  parts: decodeStream,
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
  routes,
  embeddings: { encode: encodeEmbeddings, decode: decodeEmbeddings },
};

function encodeEmbeddings(request: Record<string, unknown>, target: Target): WireRequest {
  const { input, dimensions } = request;
  const output_dimension = typeof dimensions === "number" ? dimensions : undefined;
  const dropped = besideEmbeddings(request);
  const body = { model: target.model, input, output_dimension };
  return postJson(`${target.baseUrl}/v1/embeddings`, bearerHeaders(target), body, { dropped });
}

function decodeEmbeddings(body: Buffer): Record<string, unknown> {
  const response = parseResponse(body);
  if (!Array.isArray(response?.data)) throw errorInResponse(readProblem(200, body));
  return response;
}
