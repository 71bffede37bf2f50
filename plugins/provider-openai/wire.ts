/** Sends requests to servers of OpenAI's format, unchanged where possible. */
import { BoundedMap } from "portico";
import {
  API_ROUTES,
  type ChatProvider,
  countResponseTokens,
  forwardRoutes,
  nativeResponses,
  parseObject,
  readInputTokens,
  readModelList,
  readOpenAiProblem,
  type Target,
  type WireRequest,
  stringifyExact,
} from "portico/provider";
import { OPENAI_URL, type Preset } from "./presets.ts";

/** Servers of the format rarely have the Responses API, so a channel has to enable it. */
const RESPONSES = {
  addressOf(path: string, { baseUrl, options }: Target): string | undefined {
    const isEnabled = options.responses ?? baseUrl === OPENAI_URL;
    return isEnabled === true ? `${baseUrl}/${path}` : undefined;
  },
  headersOf,
};

/**
 * Hosts whose models sign reasoning. Google's own endpoint of the format sends `extra_content` with calls, and refuses them
 * without it. OpenRouter sends `reasoning_details`, whose signatures models require again with their calls.
 */
const SIGNS_REASONING = /(?:^|[/.])(?:googleapis\.com|openrouter\.ai)(?:[:/]|$)/;

export function openaiProvider(preset: Preset): ChatProvider {
  const { name, description, baseUrl, rules, lists, signs } = preset;
  return {
    name,
    description,
    defaultBaseUrl: baseUrl,
    wire: {
      streamUsage: true,
      rules,
      signsReasoning: ({ baseUrl }) => signs === true || SIGNS_REASONING.test(baseUrl),
      passThrough: (target) => ({
        url: chatUrl(target.baseUrl),
        headers: headersOf(target),
      }),
      encode: (request, target) => post(target, "/chat/completions", request),
      error: (status, _headers, body) => readOpenAiProblem(status, body),
      listModels:
        lists === false
          ? undefined
          : {
              encode: (target): WireRequest => ({
                method: "GET",
                url: `${target.baseUrl}/models`,
                headers: headersOf(target),
                dropped: [],
              }),
              decode: readModelList,
            },
      routes: forwardRoutes(API_ROUTES, (route, target) => ({
        url: `${target.baseUrl}/${route}`,
        headers: { ...headersOf(target), accept: "*/*" },
      })),
      native: nativeResponses(RESPONSES),
      countTokens: {
        encode: (_, target, native) => countResponseTokens(native, target, RESPONSES),
        decode: readInputTokens,
      },
      embeddings: {
        encode: (request, target) =>
          post(target, "/embeddings", { ...request, model: target.model }),
        decode: (body) => parseObject(body) ?? {},
      },
    },
  };
}

function post(target: Target, path: string, body: object): WireRequest {
  return {
    method: "POST",
    url: target.baseUrl + path,
    headers: headersOf(target),
    body: stringifyExact(body),
    dropped: [],
  };
}

const chatUrls = new BoundedMap<string>({ maxEntries: 1000 });

/** Returns the same string object for the same base, so that the HTTP client's lookup of the address need not hash it again. */
function chatUrl(base: string): string {
  let url = chatUrls.get(base);
  if (url !== undefined) return url;
  url = `${base}/chat/completions`;
  chatUrls.set(base, url);
  return url;
}

/** A channel's own headers → its key → the headers that are sent. */
const headersByKey = new WeakMap<object, Map<string, Record<string, string>>>();
/** The limit for the keys of one channel whose headers are cached. */
const MAX_KEYS = 100;

/** Returns the same frozen object for the same channel and key, so that the HTTP client serialises the headers once. */
function headersOf({ headers: channelHeaders, apiKey = "" }: Target): Record<string, string> {
  const byKey = headersByKey.get(channelHeaders) ?? new Map<string, Record<string, string>>();
  let headers = byKey.get(apiKey);
  if (headers !== undefined) return headers;
  headers = Object.freeze(writeHeaders(channelHeaders, apiKey));
  if (byKey.size >= MAX_KEYS) byKey.clear();
  headersByKey.set(channelHeaders, byKey.set(apiKey, headers));
  return headers;
}

/** Builds the headers. The channel's own headers override the others, in any case. */
function writeHeaders(
  channelHeaders: Record<string, string>,
  apiKey: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  if (apiKey !== "") headers["authorization"] = `Bearer ${apiKey}`;
  for (const name in channelHeaders) headers[name.toLowerCase()] = channelHeaders[name]!;
  return headers;
}
