import {
  bearerHeaders,
  forwardRoutes,
  type Target,
  type WireProvider,
  type WireRequest,
  readModelEntries,
} from "portico/provider";
import { headersFor, listUrl } from "./address.ts";
import { decodeCount, encodeCount } from "./count.ts";
import { decodeResponse } from "./response.ts";
import { embeddings } from "./embeddings.ts";
import { readProblem } from "./problem.ts";
import { encodeGenerate } from "./request.ts";
import { geminiRules } from "./rules.ts";
import { decodeStream } from "./stream.ts";

export { AI_STUDIO } from "./address.ts";

/** Translates between OpenAI's form and `generateContent`. */
export const gemini: WireProvider = {
  signsReasoning: () => true,
  rules: geminiRules,
  encode: encodeGenerate,
  decode: decodeResponse,
  parts: decodeStream,
  error: (status, _headers, body) => readProblem(status, body),
  countTokens: { encode: encodeCount, decode: decodeCount },
  listModels: { encode: encodeModelList, decode: decodeModelList },
  embeddings,
  // This is Google's own endpoint of OpenAI's format.
  routes: forwardRoutes(["images/generations"], (route, target) => ({
    url: `${target.baseUrl}/v1beta/openai/${route}`,
    headers: bearerHeaders(target),
  })),
};

function encodeModelList(target: Target): WireRequest {
  return { method: "GET", url: listUrl(target), headers: headersFor(target), dropped: [] };
}

function decodeModelList(body: Buffer): string[] {
  // Only Google AI Studio names the methods of a model. Google's APIs leave empty lists out.
  const entries = readModelEntries(body, ["models", "publisherModels"], { mayBeEmpty: true });
  const chatModels = entries.filter(
    ({ supportedGenerationMethods: methods }) =>
      !Array.isArray(methods) || methods.includes("generateContent"),
  );
  return chatModels.flatMap(({ name }) =>
    typeof name === "string" ? [name.replace(/^.*models\//, "")] : [],
  );
}
