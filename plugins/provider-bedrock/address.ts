import { PorticoError } from "portico";
import { pathSegment, type Target, withHeaders } from "portico/chat";
import { signRequest } from "./signature.ts";

/** Stands for "none was given": the region's own host is used then. */
export const DEFAULT_BASE_URL = "https://bedrock-runtime.us-east-1.amazonaws.com";

/** What the process gives: its environment and its clock. */
export interface Surroundings {
  env: Record<string, string | undefined>;
  now: () => Date;
}

/** What of the environment must be shown to nobody. */
export function secretsIn(env: Surroundings["env"]): string[] {
  const { AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK } = env;
  return [AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_BEARER_TOKEN_BEDROCK].filter((one) => one !== undefined);
}

function regionOf(target: Target, { env }: Surroundings): string {
  const own = target.options.region;
  return typeof own === "string" ? own : (env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? "us-east-1");
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
 * Headers with credentials: the channel's key as bearer, else a signature with AWS's variables, else
 * `AWS_BEARER_TOKEN_BEDROCK`. Throws where there are none.
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
  const bearer = target.apiKey ?? (env.AWS_ACCESS_KEY_ID === undefined ? env.AWS_BEARER_TOKEN_BEDROCK : undefined);
  if (bearer !== undefined) return withHeaders({ ...headers, authorization: `Bearer ${bearer}` }, target.headers);
  if (env.AWS_ACCESS_KEY_ID === undefined || env.AWS_SECRET_ACCESS_KEY === undefined) {
    throw new PorticoError(
      "upstream_auth",
      `The channel ${target.channel} has no credentials: set its apiKey, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
      { type: "api_error" },
    );
  }
  const signed = signRequest({
    method,
    url,
    headers,
    body,
    service: "bedrock",
    region: regionOf(target, surroundings),
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN || undefined,
    date: now(),
  });
  return withHeaders(signed, target.headers);
}
