/** Hears of the signatures that a response brings, whole or streamed. */
import type { ChatChunk, ChatMessage, ToolCallPart } from "portico/provider";
import type { ChatResponse, Job } from "../job.ts";
import { onTopOf } from "../response-streams.ts";
import { readChunks } from "../openai/read-chunks.ts";
import type { Signatures } from "./signatures.ts";

/** The same response; what its messages bring is remembered. A native one keeps its own form, and is left alone. */
export function rememberSignatures(
  signatures: Signatures,
  response: ChatResponse,
  job: Job,
  channel: string,
): ChatResponse {
  if (response.native === true) return response;
  const remember = (message: Partial<ChatMessage>) =>
    signatures.remember(job.client, channel, message);
  for (const choice of response.completion?.choices ?? []) remember(choice.message);
  const { stream } = response;
  if (stream === undefined || response.streamType === "json") return response;
  const watch = new StreamedCalls();
  const reader = readChunks((chunk) => watch.chunk(chunk));
  const watched = onTopOf(stream, {
    start(sink) {
      stream.start({
        write(bytes, texts) {
          // Once: a stream that cannot be read brings nothing, and goes on.
          if (!watch.isBroken) watch.try(() => reader.push(bytes));
          return sink.write(bytes, texts);
        },
        end() {
          for (const message of watch.messages()) remember(message);
          sink.end();
        },
        fail: (error) => sink.fail(error),
      });
    },
  });
  return { ...response, stream: watched };
}

/** The calls of a stream, put together, with what each choice brought beside them. */
class StreamedCalls {
  isBroken = false;
  readonly #choices = new Map<number, { calls: Map<number, ToolCallPart>; extra?: unknown }>();

  try(read: () => void): void {
    try {
      read();
    } catch {
      this.isBroken = true;
    }
  }

  chunk({ choices }: ChatChunk): void {
    for (const { index, delta } of choices ?? []) {
      const { tool_calls: calls, extra_content: extra } = delta;
      if (calls == null && extra == null) continue;
      const choice = this.#choiceAt(index);
      if (extra != null) choice.extra = extra;
      for (const [i, part] of (calls ?? []).entries()) addPart(choice.calls, part, i);
    }
  }

  messages(): Partial<ChatMessage>[] {
    return [...this.#choices.values()].map(({ calls, extra }) => ({
      tool_calls: [...calls.values()],
      extra_content: extra,
    }));
  }

  #choiceAt(index: number) {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice = { calls: new Map<number, ToolCallPart>() };
    this.#choices.set(index, choice);
    return choice as { calls: Map<number, ToolCallPart>; extra?: unknown };
  }
}

function addPart(calls: Map<number, ToolCallPart>, part: ToolCallPart, place: number): void {
  const index = part.index ?? place;
  const call = calls.get(index) ?? { function: { name: "", arguments: "" } };
  const { name = "", arguments: args = "" } = part.function ?? {};
  calls.set(index, {
    id: part.id || call.id,
    function: {
      name: name || call.function?.name,
      arguments: `${call.function?.arguments ?? ""}${args}`,
    },
    extra_content: part.extra_content ?? call.extra_content,
  });
}
