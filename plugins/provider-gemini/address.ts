import type { Target } from "portico";
import { withHeaders } from "portico";

export const AI_STUDIO = "https://generativelanguage.googleapis.com";

export interface Address {
  vertex: boolean;
  /** The collection of models. */
  models: string;
  /** Where a model's methods hang: `…/models/gemini-3-flash`. */
  model: string;
}

/** AI Studio's addressing, or Vertex AI's where the channel names a `project`. */
export function addressOf(target: Target): Address {
  const { project, location } = target.options;
  if (typeof project !== "string") {
    const root = `${target.baseUrl}/v1beta`;
    const name = target.model.includes("/") ? target.model : `models/${target.model}`;
    return { vertex: false, models: `${root}/models`, model: `${root}/${name}` };
  }
  const region = typeof location === "string" ? location : "global";
  const host = target.baseUrl === AI_STUDIO ? vertexHost(region) : target.baseUrl;
  const google = `${host}/v1/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(region)}/publishers/google`;
  const model = target.model.replace(/^(publishers\/google\/)?(models\/|google\/)?/, "");
  return { vertex: true, models: `${host}/v1beta1/publishers/google/models`, model: `${google}/models/${model}` };
}

function vertexHost(region: string): string {
  return region === "global" ? "https://aiplatform.googleapis.com" : `https://${region}-aiplatform.googleapis.com`;
}

/** API keys go in a header of their own; what is not one is an OAuth access token. */
export function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const { vertex } = addressOf(target);
  const token = vertex ? !key?.startsWith("AIza") : key?.startsWith("ya29.");
  const own: Record<string, string> = {};
  if (key !== undefined && token) own.authorization = `Bearer ${key}`;
  else if (key !== undefined) own["x-goog-api-key"] = key;
  return withHeaders(own, target.headers);
}
