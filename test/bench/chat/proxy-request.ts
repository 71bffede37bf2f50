/** What the benchmarks' own proxies ask of a request: the token, a chat body, a model of the channel `main`. */
import { timingSafeEqual } from "node:crypto";

const AUTHORIZATION = "Bearer bench-token-0123456789";
const wanted = Buffer.from(AUTHORIZATION);
/** Of channels. Nothing in a response looks like it: where that may be, each event is looked through for it. */
export const BENCH_KEY = "sk-Vb4kX2mQ9tLw7Zd5";
export const BENCH_HEADER = `authorization: ${AUTHORIZATION}\r\n`;

/** The request as it goes on, or the status that it is refused with. */
export function forwarded(authorization: string, body: string): string | number {
  const given = Buffer.from(authorization);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return 401;
  const request = JSON.parse(body) as { model: string; messages: unknown };
  if (typeof request.model !== "string" || !Array.isArray(request.messages)) return 400;
  const slash = request.model.indexOf("/");
  if (request.model.slice(0, slash) !== "main") return 404;
  return JSON.stringify({ ...request, model: request.model.slice(slash + 1) });
}
