import {
  besideEmbeddings,
  errorInResponse,
  parseResponse,
  postJson,
  refused,
  type Target,
  type WireProvider,
  type WireRequest,
} from "portico/provider";
import { headersFor, isVertex, methodUrl } from "./address.ts";
import { readProblem } from "./problem.ts";

/** Translates `POST /v1/embeddings` to `batchEmbedContents` (AI Studio). */
export const embeddings: NonNullable<WireProvider["embeddings"]> = { encode, decode };

function encode(request: Record<string, unknown>, target: Target): WireRequest {
  if (isVertex(target))
    throw refused("model", "Embeddings are not supported with Vertex AI: use AI Studio");
  const input = Array.isArray(request.input) ? request.input : [request.input];
  if (input.length === 0 || !input.every((text) => typeof text === "string")) {
    throw refused("input", "`input` must be a string or a list of strings");
  }
  const model = `models/${target.model.replace(/^models\//, "")}`;
  const outputDimensionality =
    typeof request.dimensions === "number" ? request.dimensions : undefined;
  const requests = input.map((text) => ({
    model,
    content: { parts: [{ text }] },
    outputDimensionality,
  }));
  const dropped = besideEmbeddings(request);
  return postJson(
    methodUrl(target, "batchEmbedContents"),
    headersFor(target),
    { requests },
    { dropped },
  );
}

function decode(body: Buffer, _sent: WireRequest, target: Target): Record<string, unknown> {
  const response = parseResponse(body) as { embeddings?: { values?: number[] }[] } | undefined;
  if (!Array.isArray(response?.embeddings)) throw errorInResponse(readProblem(200, body));
  const data = response.embeddings.map(({ values = [] }, index) => ({
    object: "embedding",
    index,
    embedding: values,
  }));
  return { object: "list", data, model: target.model };
}
