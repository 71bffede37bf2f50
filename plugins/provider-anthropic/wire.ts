import { readModelList, type Target, type WireProvider, type WireRequest } from "portico/provider";
import { decodeMessage } from "./response.ts";
import { nativeMessages } from "./native.ts";
import { readProblem } from "./problem.ts";
import { decodeCount, encodeCount, encodeMessages, headersFor } from "./request.ts";
import { anthropicRules } from "./rules.ts";
import { decodeStream } from "./stream.ts";

/** Translates between OpenAI's form and Anthropic Messages (version 2023-06-01). */
export const anthropic: WireProvider = {
  signsReasoning: () => true,
  rules: anthropicRules,
  encode: encodeMessages,
  decode: decodeMessage,
  parts: decodeStream,
  error: (status, _headers, body) => readProblem(status, body),
  native: { anthropic: nativeMessages },
  countTokens: { encode: encodeCount, decode: decodeCount },
  listModels: { encode: encodeModelList, decode: readModelList },
};

function encodeModelList(target: Target): WireRequest {
  return {
    method: "GET",
    url: `${target.baseUrl}/v1/models?limit=1000`,
    headers: headersFor(target),
    dropped: [],
  };
}
