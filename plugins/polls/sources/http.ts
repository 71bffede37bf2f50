import { createHash } from "node:crypto";
import { decodeText } from "./decode.ts";
import { endingOf } from "./ending.ts";
import { fetchSource } from "./fetch.ts";
import { withoutIgnored } from "./pages/ignore.ts";
import type { Answered, Asked } from "./source.ts";

export const hashOf = (content: string | Buffer): string => createHash("sha256").update(content).digest("base64url");

const TEXT = /^(text\/|application\/(json|xml|javascript|x-yaml|yaml|toml)|[\w/-]+\+(json|xml))/i;

/** A document as a whole: it changed where its bytes (or, with `ignore`, its remaining lines) did. */
export function readHttp(asked: Asked): Promise<Answered> {
  const { ignore } = asked.source;
  return fetchSource(asked, ({ body, contentType, isFramed }) => {
    const isText = ignore !== undefined || TEXT.test(contentType);
    const whole = isText ? decodeText(body, contentType) : "";
    const ending = endingOf(whole, contentType);
    return {
      kind: "text",
      text: isText ? withoutIgnored(whole, ignore) : "",
      hash: hashOf(ignore === undefined ? body : withoutIgnored(whole, ignore)),
      ending: ending && { ...ending, isSaid: ending.isSaid || !isFramed },
    };
  });
}
