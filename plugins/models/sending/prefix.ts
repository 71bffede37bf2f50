/**
 * Puts what hooks pushed on `event.messages` in front of a response, because an HTTP response has no other place for
 * it.
 */
import type { ChatCompletion, ChatRequest, StreamPart } from "portico/provider";
import { type PartStream, wrapFlow } from "../streams/flow.ts";

function joinPushed(pushed: readonly string[], request: ChatRequest): string | undefined {
  const format = request["response_format"] as { type?: unknown } | null | undefined;
  // Text before JSON would break the requested format.
  if (format?.type === "json_object" || format?.type === "json_schema") return undefined;
  return pushed.join("\n\n");
}

/** Puts the texts before the response's own text, separated by an empty line. */
export function prefixCompletion(
  completion: ChatCompletion,
  pushed: readonly string[],
  request: ChatRequest,
): ChatCompletion {
  const prefixText = joinPushed(pushed, request);
  if (prefixText === undefined) return completion;
  const choices = completion.choices.map((choice) => {
    const originalContent = choice.message.content;
    const content =
      typeof originalContent === "string" && originalContent !== ""
        ? `${prefixText}\n\n${originalContent}`
        : prefixText;
    return { ...choice, message: { ...choice.message, content } };
  });
  return { ...completion, choices };
}

/** Puts the texts in front of the first choice of the stream. */
export function prefixStream(
  source: PartStream,
  pushed: readonly string[],
  request: ChatRequest,
): PartStream {
  const prefixText = joinPushed(pushed, request);
  if (prefixText === undefined) return source;
  return wrapFlow(source, async function* () {
    let isPlaced = false;
    for await (const parts of source) {
      const index = isPlaced ? -1 : parts.findIndex((part) => "choice" in part);
      const first = parts[index];
      if (first === undefined || !("choice" in first)) {
        yield parts;
        continue;
      }
      isPlaced = true;
      const prefix: StreamPart = { type: "text", choice: first.choice, text: `${prefixText}\n\n` };
      yield [...parts.slice(0, index), prefix, ...parts.slice(index)];
    }
  });
}
