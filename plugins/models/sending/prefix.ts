/** Puts what hooks pushed on `event.messages` in front of a response: an HTTP response has no other place for it. */
import type { ChatCompletion, ChatRequest, StreamPart } from "portico/provider";
import { type PartStream, through } from "../streams/flow.ts";

function textBefore(pushed: readonly string[], request: ChatRequest): string | undefined {
  const format = request["response_format"] as { type?: unknown } | null | undefined;
  // Text before JSON would break what the caller asked for.
  if (format?.type === "json_object" || format?.type === "json_schema") return undefined;
  return pushed.join("\n\n");
}

/** The response with the texts before its own, an empty line between. */
export function prefixCompletion(
  completion: ChatCompletion,
  pushed: readonly string[],
  request: ChatRequest,
): ChatCompletion {
  const before = textBefore(pushed, request);
  if (before === undefined) return completion;
  const choices = completion.choices.map((choice) => {
    const own = choice.message.content;
    const content = typeof own === "string" && own !== "" ? `${before}\n\n${own}` : before;
    return { ...choice, message: { ...choice.message, content } };
  });
  return { ...completion, choices };
}

/** The stream with the texts in front of the first choice. */
export function prefixStream(
  source: PartStream,
  pushed: readonly string[],
  request: ChatRequest,
): PartStream {
  const before = textBefore(pushed, request);
  if (before === undefined) return source;
  return through(source, async function* () {
    let placed = false;
    for await (const parts of source) {
      const at = placed ? -1 : parts.findIndex((part) => "choice" in part);
      const first = parts[at];
      if (first === undefined || !("choice" in first)) {
        yield parts;
        continue;
      }
      placed = true;
      const prefix: StreamPart = { type: "text", choice: first.choice, text: `${before}\n\n` };
      yield [...parts.slice(0, at), prefix, ...parts.slice(at)];
    }
  });
}
