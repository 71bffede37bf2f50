import { isClaude, readModelEntries, type WireProvider } from "portico/provider";
import type { Surroundings } from "./address.ts";
import { createAwsCredential } from "./aws-credentials.ts";
import { authorize, listUrl } from "./address.ts";
import { decodeResponse } from "./response.ts";
import { readProblem } from "./problem.ts";
import { encodeConverse } from "./request.ts";
import { bedrockRules } from "./rules.ts";
import { decodeStream } from "./stream.ts";

/** Translates between OpenAI's form and Bedrock's Converse. */
export function createBedrock(surroundings: Surroundings): WireProvider {
  return {
    rules: bedrockRules,
    signsReasoning: ({ model }) => isClaude(model),
    encode: (request, target) => encodeConverse(request, target, surroundings),
    decode: decodeResponse,
    parts: decodeStream,
    error: readProblem,
    credential: createAwsCredential(surroundings),
    listModels: {
      encode(target) {
        const url = listUrl(target, surroundings);
        return {
          method: "GET",
          url,
          headers: authorize("GET", url, "", target, surroundings),
          dropped: [],
        };
      },
      decode: decodeModelList,
    },
  };
}

function decodeModelList(body: Buffer): string[] {
  return readModelEntries(body, ["modelSummaries"]).flatMap(({ modelId, outputModalities }) => {
    const hasText = !Array.isArray(outputModalities) || outputModalities.includes("TEXT");
    return typeof modelId === "string" && hasText ? [modelId] : [];
  });
}
