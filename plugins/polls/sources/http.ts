import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { decodeText } from "portico/strings";
import { detectEnding } from "./ending.ts";
import { fetchSource } from "./fetch.ts";
import { removeIgnoredLines } from "./pages/ignore.ts";
import type { ReadResult, ReadRequest } from "./source.ts";

export const hashOf = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("base64url");

const TEXT = /^(text\/|application\/(json|xml|javascript|x-yaml|yaml|toml)|[\w/-]+\+(json|xml))/i;

/** Files are often served without a specific type. Such a body counts as text if it is UTF-8 without NUL. */
const UNTYPED = /^(application\/octet-stream\s*(;|$)|$)/i;

const isText = (body: Buffer, contentType: string): boolean =>
  TEXT.test(contentType) || (UNTYPED.test(contentType) && isUtf8(body) && !body.includes(0));

/** Reads a document as one text. It has changed if its bytes have, or with `ignore` its remaining lines. */
export function readHttp(request: ReadRequest): Promise<ReadResult> {
  const { ignore } = request.source;
  return fetchSource(request, async ({ body, contentType, isFramed }) => {
    const hasText = ignore !== undefined || isText(body, contentType);
    const fullText = hasText ? decodeText(body, contentType) : "";
    const ending = await detectEnding(fullText, contentType);
    const text = hasText ? await removeIgnoredLines(fullText, ignore) : "";
    return {
      kind: "text",
      text,
      hash: hashOf(ignore === undefined ? body : text),
      ending: ending && { ...ending, isDeclared: ending.isDeclared || !isFramed },
    };
  });
}
