/**
 * The checks that the benchmarks' own proxies perform on a request: the token, a chat body, a model of the channel `main`.
 */
import { timingSafeEqual } from "node:crypto";

const AUTHORIZATION = "Bearer bench-token-0123456789";
const expectedToken = Buffer.from(AUTHORIZATION);
/**
 * The API key of channels. No response contains a similar text, because then the gateway would search each event for the
 * key.
 */
export const BENCH_KEY = "sk-Vb4kX2mQ9tLw7Zd5";
export const BENCH_HEADER = `authorization: ${AUTHORIZATION}\r\n`;

/** Returns the request's body for the upstream, or the status with which the request is refused. */
export function checkRequest(authorization: string, body: string): string | number {
  const token = Buffer.from(authorization);
  if (token.length !== expectedToken.length || !timingSafeEqual(token, expectedToken)) return 401;
  const request = JSON.parse(body) as { model: string; messages: unknown };
  if (typeof request.model !== "string" || !Array.isArray(request.messages)) return 400;
  const slash = request.model.indexOf("/");
  if (request.model.slice(0, slash) !== "main") return 404;
  return JSON.stringify({ ...request, model: request.model.slice(slash + 1) });
}
