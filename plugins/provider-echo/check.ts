/** Refuses requests that real models refuse. */
import { type ChatRequest, readTools, refused } from "portico/provider";

const PART_TYPES = new Set(["text", "image_url", "input_audio", "file", "refusal"]);

/** Throws `invalid_request_error` (400) with `param`. */
export function checkRequest(request: ChatRequest): void {
  // Called only for the errors that it throws.
  if (request.tools != null || request["tool_choice"] != null) readTools(request);
  checkMessages(request);
}

function checkMessages({ messages }: ChatRequest): void {
  for (const [i, { role, content, tool_call_id: callId }] of messages.entries()) {
    const path = `messages[${i}]`;
    if (role === "tool" && (typeof callId !== "string" || callId === ""))
      throw refused(
        `${path}.tool_call_id`,
        "A tool message needs the `tool_call_id` of the call that it answers",
      );
    if (!Array.isArray(content)) continue;
    for (const [k, part] of content.entries()) {
      if (!PART_TYPES.has(part?.type)) {
        const type = JSON.stringify(part?.type ?? null).slice(0, 100);
        throw refused(`${path}.content[${k}].type`, `echo does not accept content of type ${type}`);
      }
    }
  }
}
