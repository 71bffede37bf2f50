/** Passes requests of the Responses API to upstreams that speak it too. Nothing is translated, so nothing is lost. */
import { withHeaders } from "../request/headers.ts";
import { postJson } from "../request/post-json.ts";
import { isObject } from "../request/is-object.ts";
import { wellFormedValue } from "../rules/unicode.ts";
import type { NativeForm, NativeRequest, Target, WireRequest } from "../types/provider.ts";
import { decodeCompaction, decodeResponse } from "./whole-response.ts";
import { nativeTexts } from "./texts.ts";
import { decodeResponseStream } from "./response-stream.ts";

export interface ResponsesAddress {
  /** Returns the URL of a path such as `responses`; undefined if the target does not speak the format. */
  addressOf(path: string, target: Target): string | undefined;
  headersOf(target: Target): Record<string, string>;
}

const ENCRYPTED_REASONING = "reasoning.encrypted_content";

/** Returns the forms `responses` and `responses.compact` of a provider. */
export function nativeResponses(address: ResponsesAddress): Record<string, NativeForm> {
  return {
    responses: {
      hasOwnRules: true,
      encode: (native, target) => encode(native, target, address),
      decode: decodeResponse,
      parts: decodeResponseStream,
      texts: nativeTexts,
    },
    "responses.compact": {
      hasOwnRules: true,
      encode: (native, target) => post("responses/compact", native.body, target, address),
      decode: decodeCompaction,
      parts: decodeResponseStream,
      texts: nativeTexts,
    },
  };
}

/** Returns the request that counts the tokens of a request in the Responses format; undefined for other formats. */
export function countResponseTokens(
  native: NativeRequest | undefined,
  target: Target,
  address: ResponsesAddress,
): WireRequest | undefined {
  if (native?.form !== "responses") return undefined;
  return post("responses/input_tokens", native.body, target, address);
}

/** Returns `input_tokens` of the response, if it has any. */
export function readInputTokens(body: Buffer): number | undefined {
  const value: unknown = JSON.parse(body.toString("utf8"));
  const count = isObject(value) ? value["input_tokens"] : undefined;
  return typeof count === "number" ? count : undefined;
}

/**
 * The gateway stores conversations itself, so it asks the upstream to store nothing and to return its reasoning encrypted.
 * Not all models support this: both settings are additions, without which a failed request is tried again.
 */
function encode(
  { body, ...native }: NativeRequest,
  target: Target,
  address: ResponsesAddress,
): WireRequest | undefined {
  const added: string[] = [];
  const sent = { ...body };
  const include = Array.isArray(body["include"]) ? body["include"] : [];
  if (target.bare !== true && !include.includes(ENCRYPTED_REASONING)) {
    sent["include"] = [...include, ENCRYPTED_REASONING];
    added.push("include");
  }
  if (target.bare !== true && body["store"] !== false) {
    sent["store"] = false;
    added.push("store");
  }
  const request = post("responses", sent, target, address, native.headers);
  return request && { ...request, additions: added };
}

function post(
  path: string,
  body: Record<string, unknown>,
  target: Target,
  { addressOf, headersOf }: ResponsesAddress,
  formHeaders: Record<string, string> = {},
): WireRequest | undefined {
  const url = addressOf(path, target);
  if (url === undefined) return undefined;
  const headers = withHeaders({ ...headersOf(target), ...formHeaders }, target.headers);
  const wellFormed = wellFormedValue(body, "", () => {}) as Record<string, unknown>;
  return postJson(url, headers, { ...wellFormed, model: target.model });
}
