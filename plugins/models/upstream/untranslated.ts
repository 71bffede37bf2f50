/**
 * Refuses content that cannot be translated into OpenAI's format, at channels that do not support the caller's format.
 */
import type { PorticoError } from "portico";
import { type ChatRequest, refused } from "portico/provider";
import { errors } from "../errors.ts";

const PARTS = new Set(["text", "image_url", "input_audio", "file", "refusal"]);

interface Translated {
  request: ChatRequest;
  refusal: PorticoError | undefined;
}

/** Throws 400 with `param` for content, tools and threads that OpenAI's format cannot express. */
export function checkTranslated({ request, refusal }: Translated): void {
  if (refusal !== undefined) throw refusal;
  const { messages, tools, thread } = request;
  if (thread != null) throw threadUnsupported();
  for (const [i, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [j, { type }] of content.entries()) {
      if (PARTS.has(type)) continue;
      throw refused(
        `messages[${i}].content[${j}].type`,
        `This channel does not accept content of type ${JSON.stringify(type)}`,
      );
    }
  }
  for (const [i, { type }] of (tools ?? []).entries())
    if (type !== "function")
      throw refused(`tools[${i}].type`, "This channel accepts only tools of type function");
}

/**
 * Anthropic's SDKs recognise the code and continue without a thread: they send the whole conversation in each request.
 */
function threadUnsupported(): PorticoError {
  const details = { error_code: "thread_unsupported_request", unsupported: ["thread"] };
  return errors.threadUnsupported({
    param: "thread",
    details: { details },
  });
}
