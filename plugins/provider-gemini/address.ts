import { pathSegments, type Target, withHeaders } from "portico/provider";

export const AI_STUDIO = "https://generativelanguage.googleapis.com";

/** True for a channel with a `project`, which uses Vertex AI instead of AI Studio. */
export function isVertex(target: Target): boolean {
  return typeof target.options.project === "string";
}

/** Returns the URL of the list of models. */
export function listUrl(target: Target): string {
  if (!isVertex(target)) return `${target.baseUrl}/v1beta/models?pageSize=1000`;
  return `${hostOf(target)}/v1beta1/publishers/google/models`;
}

/** Returns the URL of a model's method: `…/models/gemini-3-flash:generateContent`. */
export function methodUrl(target: Target, method: string): string {
  const { model } = target;
  if (!isVertex(target)) {
    const name = model.includes("/") ? model : `models/${model}`;
    return `${target.baseUrl}/v1beta/${pathSegments(name)}:${method}`;
  }
  const location = `projects/${encodeURIComponent(String(target.options.project))}/locations/${encodeURIComponent(regionOf(target))}`;
  const name = model.replace(/^(publishers\/google\/)?(models\/|google\/)?/, "");
  return `${hostOf(target)}/v1/${location}/publishers/google/models/${pathSegments(name)}:${method}`;
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

/** Returns headers with credentials. API keys have a separate header; other values are OAuth access tokens. */
export function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const isToken = isVertex(target) ? !key?.startsWith("AIza") : key?.startsWith("ya29.");
  const headers: Record<string, string> = {};
  if (target.credential !== undefined) headers.authorization = `Bearer ${target.credential.token}`;
  else if (key !== undefined && isToken) headers.authorization = `Bearer ${key}`;
  else if (key !== undefined) headers["x-goog-api-key"] = key;
  return withHeaders(headers, target.headers);
}
