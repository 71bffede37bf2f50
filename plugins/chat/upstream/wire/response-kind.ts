/** How an upstream's response is to be read. */
import type { IncomingHttpHeaders } from "node:http";
import { markLength } from "../../kit/stream/byte-order-mark.ts";

/** `sniff`: its first byte tells. */
export type ResponseKind = "error" | "collect" | "sniff" | "stream";

/** What the head of a response says. `stream`: one was asked for. */
export function kindOf(status: number, headers: IncomingHttpHeaders, stream: boolean): ResponseKind {
  if (status >= 300) return "error";
  if (!stream) return "collect";
  const type = headers["content-type"]?.toLowerCase() ?? "";
  // Only where JSON lines or binary events are not what the provider speaks may the first byte tell the kind.
  return type === "" || type.startsWith("application/json") || type.startsWith("text/") ? "sniff" : "stream";
}

/** What the body of a response to a stream request begins as; undefined as long as nothing but white space has come. */
export function sniff(bytes: Buffer): "collect" | "stream" | undefined {
  let at = markLength(bytes);
  while (at < bytes.length && (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9)) at++;
  if (at === bytes.length) return undefined;
  const first = bytes[at];
  // `{`, `[` or `<`: JSON or a page where a stream was asked for.
  return first === 123 || first === 91 || first === 60 ? "collect" : "stream";
}

/** All that matters of white space, however much there is: whether a line has begun. */
export function endOfBlank(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(Math.max(markLength(bytes), bytes.length - 1)));
}

/** Nothing of a response yet: the upstream keeps the connection busy. */
export function onlyComments(bytes: Buffer): boolean {
  return bytes[0] === 58 && !bytes.includes("data:");
}

/** JSON that says nothing but what went wrong, under a status that says all went well. */
export function beginsAsError(headers: IncomingHttpHeaders, bytes: Buffer): boolean {
  if (headers["content-type"]?.toLowerCase().startsWith("application/json") !== true) return false;
  return /^\s{0,64}\{\s{0,64}"error"\s{0,8}:\s{0,8}[{"[]/.test(bytes.toString("latin1", 0, 256));
}
