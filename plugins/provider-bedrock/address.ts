import type { ChainOptions } from "./aws-credentials.ts";
import { pathSegment, type Target, withHeaders } from "portico/provider";
import { signRequest } from "./signature.ts";

/** The default: the host of the region is used then. */
export const DEFAULT_BASE_URL = "https://bedrock-runtime.us-east-1.amazonaws.com";

/** What the process gives: its environment and its clock. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => Date;
  chain?: ChainOptions["chain"];
}

/** The variables of the environment that are secret. */
export function secretsIn(env: Surroundings["env"]): string[] {
  const { AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK } = env;
  return [AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK].filter(
    (one) => one !== undefined,
  );
}

function regionOf(target: Target, { env }: Surroundings): string {
  const own = target.options.region;
  return typeof own === "string" ? own : env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
}

/** The address of a model's method. */
export function methodUrl(target: Target, method: string, surroundings: Surroundings): string {
  const host =
    target.baseUrl === DEFAULT_BASE_URL
      ? `https://bedrock-runtime.${regionOf(target, surroundings)}.amazonaws.com`
      : target.baseUrl;
  return `${host}/model/${pathSegment(target.model)}/${method}`;
}

/** Where models are listed: another host than where they run. */
export function listUrl(target: Target, surroundings: Surroundings): string {
  const host =
    target.baseUrl === DEFAULT_BASE_URL
      ? `https://bedrock.${regionOf(target, surroundings)}.amazonaws.com`
      : target.baseUrl;
  return `${host}/foundation-models`;
}

/**
 * Headers with credentials: the channel's key as bearer, else a signature with what was fetched for the attempt, else
 * `AWS_BEARER_TOKEN_BEDROCK`.
 */
export function authorize(
  method: "GET" | "POST",
  url: string,
  body: string,
  target: Target,
  surroundings: Surroundings,
): Record<string, string> {
  const { env, now } = surroundings;
  const headers: Record<string, string> = body === "" ? {} : { "content-type": "application/json" };
  const { apiKey, credential } = target;
  if (apiKey !== undefined || credential === undefined) {
    const bearer = apiKey ?? env.AWS_BEARER_TOKEN_BEDROCK;
    const own = bearer === undefined ? headers : { ...headers, authorization: `Bearer ${bearer}` };
    return withHeaders(own, target.headers);
  }
  const { accessKeyId = "", secretAccessKey = "", sessionToken } = credential;
  const region = regionOf(target, surroundings);
  const keys = { accessKeyId, secretAccessKey, sessionToken };
  const signed = signRequest({
    method,
    url,
    headers,
    body,
    service: "bedrock",
    region,
    ...keys,
    date: now(),
  });
  return withHeaders(signed, target.headers);
}
