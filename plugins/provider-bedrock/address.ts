import type { ChainOptions } from "./aws-credentials.ts";
import { pathSegment, type Target, withHeaders } from "portico/provider";
import { signRequest } from "./signature.ts";

/** The default, which stands for the host of the channel's region. */
export const DEFAULT_BASE_URL = "https://bedrock-runtime.us-east-1.amazonaws.com";

/** The environment and the clock of the process. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => Date;
  chain?: ChainOptions["chain"];
}

/** Returns the values of the secret environment variables. */
export function secretsIn(env: Surroundings["env"]): string[] {
  const { AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK } = env;
  return [AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK].filter(
    (secret) => secret !== undefined,
  );
}

function regionOf(target: Target, { env }: Surroundings): string {
  const { region } = target.options;
  return typeof region === "string"
    ? region
    : env.AWS_REGION || env.AWS_DEFAULT_REGION || "us-east-1";
}

/** Returns the URL of a model's method. */
export function methodUrl(target: Target, method: string, surroundings: Surroundings): string {
  const host =
    target.baseUrl === DEFAULT_BASE_URL
      ? `https://bedrock-runtime.${regionOf(target, surroundings)}.amazonaws.com`
      : target.baseUrl;
  return `${host}/model/${pathSegment(target.model)}/${method}`;
}

/** Returns the URL of the list of models, whose host differs from that of their methods. */
export function listUrl(target: Target, surroundings: Surroundings): string {
  const host =
    target.baseUrl === DEFAULT_BASE_URL
      ? `https://bedrock.${regionOf(target, surroundings)}.amazonaws.com`
      : target.baseUrl;
  return `${host}/foundation-models`;
}

/**
 * Returns headers with credentials: the channel's key as a bearer token, otherwise a signature with the credential of the
 * attempt, otherwise `AWS_BEARER_TOKEN_BEDROCK`.
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
    const authorized =
      bearer === undefined ? headers : { ...headers, authorization: `Bearer ${bearer}` };
    return withHeaders(authorized, target.headers);
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
