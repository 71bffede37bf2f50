import {
  API_ROUTES,
  countResponseTokens,
  forwardRoutes,
  nativeResponses,
  parseObject,
  pathSegment,
  readInputTokens,
  readModelList,
  readOpenAiProblem,
  type Target,
  type WireProvider,
  type WireRequest,
  withHeaders,
  stringifyExact,
} from "portico/provider";
import { azureRules } from "./rules.ts";

/** The first version of the versioned URLs that has the Responses API. */
const FIRST_RESPONSES_VERSION = "2025-03-01";

const RESPONSES = {
  addressOf(path: string, { baseUrl, options }: Target): string | undefined {
    if (options.responses === false) return undefined;
    const { apiVersion } = options;
    if (typeof apiVersion !== "string") return `${baseUrl}/openai/v1/${path}`;
    if (apiVersion < FIRST_RESPONSES_VERSION && options.responses !== true) return undefined;
    return `${baseUrl}/openai/${path}?api-version=${encodeURIComponent(apiVersion)}`;
  },
  headersOf: jsonHeaders,
};

/**
 * Azure uses OpenAI's format at other addresses, so requests pass through. Its streams begin with an event about the
 * prompt's filters that has no choices; the reader of OpenAI streams handles it.
 */
export const azure: WireProvider = {
  rules: azureRules,
  streamUsage: true,
  passThrough(target) {
    return { url: addressOf("chat/completions", target), headers: jsonHeaders(target) };
  },
  encode: (request, target) =>
    post("chat/completions", { ...request, model: target.model }, target),
  error: (status, _headers, body) => readOpenAiProblem(status, body),
  listModels: {
    encode: (target) => ({
      method: "GET",
      url: modelsAddress(target),
      headers: headersFor(target),
      dropped: [],
    }),
    decode: readModelList,
  },
  routes: forwardRoutes(
    API_ROUTES.filter((route) => route !== "moderations" && route !== "rerank"),
    (route, target) => ({ url: addressOf(route, target), headers: headersFor(target) }),
  ),
  native: nativeResponses(RESPONSES),
  countTokens: {
    encode: (_, target, native) => countResponseTokens(native, target, RESPONSES),
    decode: readInputTokens,
  },
  embeddings: {
    encode: (request, target) => post("embeddings", { ...request, model: target.model }, target),
    decode: (body) => parseObject(body) ?? {},
  },
};

function post(method: string, request: object, target: Target): WireRequest {
  const body = stringifyExact(request);
  return {
    method: "POST",
    url: addressOf(method, target),
    headers: jsonHeaders(target),
    body,
    dropped: [],
  };
}

function addressOf(method: string, target: Target): string {
  const version = target.options.apiVersion;
  if (typeof version !== "string") return `${target.baseUrl}/openai/v1/${method}`;
  const deployment = pathSegment(target.model);
  return `${target.baseUrl}/openai/deployments/${deployment}/${method}?api-version=${encodeURIComponent(version)}`;
}

function modelsAddress(target: Target): string {
  const version = target.options.apiVersion;
  if (typeof version !== "string") return `${target.baseUrl}/openai/v1/models`;
  return `${target.baseUrl}/openai/models?api-version=${encodeURIComponent(version)}`;
}

function jsonHeaders(target: Target): Record<string, string> {
  return { "content-type": "application/json", ...headersFor(target) };
}

/** A key of the resource has a separate header. Tokens of Entra, which are JWTs, are bearer tokens. */
function headersFor(target: Target): Record<string, string> {
  const key = target.apiKey;
  const headers: Record<string, string> = {};
  if (target.credential !== undefined) headers.authorization = `Bearer ${target.credential.token}`;
  else if (key?.startsWith("eyJ")) headers.authorization = `Bearer ${key}`;
  else if (key !== undefined) headers["api-key"] = key;
  return withHeaders(headers, target.headers);
}
