import { pathSegments, type Target, withHeaders } from "portico/provider";

export const AI_STUDIO = "https://generativelanguage.googleapis.com";

/** Vertex AI's addressing, where the channel names a `project`; else AI Studio's. */
export function isVertex(target: Target): boolean {
  return typeof target.options.project === "string";
}

/** Where models are listed. */
export function listUrl(target: Target): string {
  if (!isVertex(target)) return `${target.baseUrl}/v1beta/models?pageSize=1000`;
  return `${hostOf(target)}/v1beta1/publishers/google/models`;
}

/** The address of a model's method: `…/models/gemini-3-flash:generateContent`. */
export function methodUrl(target: Target, method: string): string {
  const { model } = target;
  if (!isVertex(target)) {
    const name = model.includes("/") ? model : `models/${model}`;
    return `${target.baseUrl}/v1beta/${pathSegments(name)}:${method}`;
  }
  const where = `projects/${encodeURIComponent(String(target.options.project))}/locations/${encodeURIComponent(regionOf(target))}`;
  const name = model.replace(/^(publishers\/google\/)?(models\/|google\/)?/, "");
  return `${hostOf(target)}/v1/${where}/publishers/google/models/${pathSegments(name)}:${method}`;
}

function regionOf(target: Target): string {
  const { location } = target.options;
  return typeof location === "string" ? location : "global";
}

function hostOf(target: Target): string {
  return target.baseUrl === AI_STUDIO ? vertexHost(regionOf(target)) : target.baseUrl;
}

function vertexHost(region: string): string {
  return region === "global"
    ? "https://aiplatform.googleapis.com"
    : `https://${region}-aiplatform.googleapis.com`;
}

/** API keys have a header of their own; any other value is an OAuth access token. */
export function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const token = isVertex(target) ? !key?.startsWith("AIza") : key?.startsWith("ya29.");
  const own: Record<string, string> = {};
  if (target.credential !== undefined) own.authorization = `Bearer ${target.credential.token}`;
  else if (key !== undefined && token) own.authorization = `Bearer ${key}`;
  else if (key !== undefined) own["x-goog-api-key"] = key;
  return withHeaders(own, target.headers);
}
