/** What a translation into OpenAI's form left as it was, for channels that speak the form it came in. */
import { type ChatRequest, refused } from "portico/chat";

const PARTS = new Set(["text", "image_url", "input_audio", "file", "refusal"]);

/** Throws 400 with `param` for content and tools that OpenAI's form has no word for. */
export function checkTranslated({ messages, tools }: ChatRequest): void {
  for (const [i, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [j, { type }] of content.entries()) {
      if (PARTS.has(type)) continue;
      throw refused(
        `messages[${i}].content[${j}].type`,
        `This channel does not take content of type ${JSON.stringify(type)}`,
      );
    }
  }
  for (const [i, { type }] of (tools ?? []).entries())
    if (type !== "function")
      throw refused(`tools[${i}].type`, "This channel takes tools of type function only");
}
