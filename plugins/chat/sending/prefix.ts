/** Puts what hooks pushed on `event.messages` in front of a response: an HTTP response has no other place for it. */
import {
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  createSseParser,
} from "portico/chat";
import { onTopOf } from "../response-streams.ts";
import type { ResponseStream } from "../job.ts";

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

/** The stream with one chunk of the texts behind the role of its first event. */
export function prefixStream(
  source: ResponseStream,
  pushed: readonly string[],
  request: ChatRequest,
): ResponseStream {
  const before = textBefore(pushed, request);
  if (before === undefined) return source;
  let placed = false;
  const place = (bytes: Buffer): Buffer => {
    const out: string[] = [];
    const parser = createSseParser(
      (data) => {
        if (placed || data.length === 6) {
          out.push(`data: ${data.toString("utf8")}\n\n`);
          return;
        }
        placed = true;
        const chunk = JSON.parse(data.toString("utf8")) as ChatChunk;
        const first = chunk.choices[0]!;
        const { id, object, created, model } = chunk;
        const head = { id, object, created, model };
        const event = (delta: object) =>
          `data: ${JSON.stringify({ ...head, choices: [{ index: first.index, delta, finish_reason: null }] })}\n\n`;
        out.push(event({ role: "assistant", content: "" }), event({ content: `${before}\n\n` }));
        const { role: _, ...delta } = first.delta;
        out.push(
          `data: ${JSON.stringify({ ...chunk, choices: [{ ...first, delta }, ...chunk.choices.slice(1)] })}\n\n`,
        );
      },
      (comment) => out.push(`:${comment.toString("utf8")}\n\n`),
    );
    parser.push(bytes);
    parser.end();
    return Buffer.from(out.join(""));
  };
  return onTopOf(source, {
    start: (sink) =>
      source.start({
        write: (bytes) => sink.write(placed ? bytes : place(bytes)),
        end: () => sink.end(),
        fail: (error) => sink.fail(error),
      }),
  });
}
