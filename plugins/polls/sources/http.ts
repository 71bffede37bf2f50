import { createHash } from "node:crypto";
import { decodeText } from "./decode.ts";
import { fetchSource } from "./fetch.ts";
import { withoutIgnored } from "./ignore.ts";
import type { Answered, Asked, Found } from "./source.ts";

export const hashOf = (content: string | Buffer): string => createHash("sha256").update(content).digest("base64url");

const TEXT = /^(text\/|application\/(json|xml|javascript|x-yaml|yaml|toml)|[\w/-]+\+(json|xml))/i;

/** A document as a whole: it changed where its bytes (or, with `ignore`, its remaining lines) did. */
export async function readHttp(asked: Asked): Promise<Answered> {
  const fetched = await fetchSource(asked);
  if (fetched === "unchanged") return { found: { kind: "unchanged" }, status: 304, bytes: 0 };
  const { body, contentType, status, validators } = fetched;
  const { ignore } = asked.source;
  const text =
    ignore !== undefined || TEXT.test(contentType) ? withoutIgnored(decodeText(body, contentType), ignore) : "";
  const found: Found = { kind: "text", text, hash: hashOf(ignore === undefined ? body : text) };
  return { found, validators, status, bytes: body.length };
}
