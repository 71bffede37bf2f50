import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { decodeText } from "portico/strings";
import { endingOf } from "./ending.ts";
import { fetchSource } from "./fetch.ts";
import { withoutIgnored } from "./pages/ignore.ts";
import type { ReadResult, ReadRequest } from "./source.ts";

export const hashOf = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("base64url");

const TEXT = /^(text\/|application\/(json|xml|javascript|x-yaml|yaml|toml)|[\w/-]+\+(json|xml))/i;

/** Files are often served without a type of their own; what is no text holds bytes that a text has not. */
const UNTYPED = /^(application\/octet-stream\s*(;|$)|$)/i;

const isText = (body: Buffer, contentType: string): boolean =>
  TEXT.test(contentType) || (UNTYPED.test(contentType) && isUtf8(body) && !body.includes(0));

/** A document as a whole: it changed where its bytes (or, with `ignore`, its remaining lines) did. */
export function readHttp(request: ReadRequest): Promise<ReadResult> {
  const { ignore } = request.source;
  return fetchSource(request, async ({ body, contentType, isFramed }) => {
    const shows = ignore !== undefined || isText(body, contentType);
    const whole = shows ? decodeText(body, contentType) : "";
    const ending = await endingOf(whole, contentType);
    const text = shows ? await withoutIgnored(whole, ignore) : "";
    return {
      kind: "text",
      text,
      hash: hashOf(ignore === undefined ? body : text),
      ending: ending && { ...ending, isSaid: ending.isSaid || !isFramed },
    };
  });
}
