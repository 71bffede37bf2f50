/** The stream of a provider that does nothing but stream, as one response. */
import type { ChatChunk, ChatCompletion, ChatMessage, ToolCallPart, Usage } from "portico/chat";
import { type ResponseStream, clientDisconnected, type Job } from "../../job.ts";
import { type CompletionDefaults, textCompletion } from "../../openai/completion.ts";
import { isObject } from "../../openai/fields.ts";
import { readChunks } from "../../openai/read-chunks.ts";

/** Reads the stream to its end. Rejects where it breaks off, or the client disconnects. */
export function gather(stream: ResponseStream, job: Job, defaults: CompletionDefaults): Promise<ChatCompletion> {
  return new Promise((resolve, reject) => {
    const completion = textCompletion(defaults, "");
    const gathered = gathering(completion);
    job.onCancel({ cancel: () => reject(clientDisconnected()) });
    stream.start({
      write(bytes) {
        gathered.push(bytes);
        return true;
      },
      end() {
        gathered.end(stream.usage);
        resolve(completion);
      },
      fail: reject,
    });
  });
}

/** Puts what the bytes of a stream say into the completion, which is whole after `end`. */
export function gathering(completion: ChatCompletion) {
  const choices: Gathered[] = [];
  const parser = readChunks(
    (chunk) => {
      const { id, created, model } = chunk;
      Object.assign(completion, { id, created, model });
      for (const choice of chunk.choices) (choices[choice.index] ??= new Gathered()).add(choice);
    },
    (text) => choices[0]?.addText(text),
  );
  return {
    push: (bytes: Buffer) => parser.push(bytes),
    end(usage: Usage | undefined) {
      completion.choices = choices.flatMap((gathered, index) => [{ index, ...gathered.end(), logprobs: null }]);
      if (usage !== undefined) completion.usage = usage;
    },
  };
}

class Gathered {
  #text = "";
  #reasoning = "";
  #refusal = "";
  #audio: Record<string, unknown> | undefined;
  #calls: ToolCallPart[] = [];
  #reason: string | null = null;

  addText(text: string): void {
    this.#text += text;
  }

  add({ delta, finish_reason }: ChatChunk["choices"][0]): void {
    if (typeof delta.content === "string") this.addText(delta.content);
    if (typeof delta.reasoning_content === "string") this.#reasoning += delta.reasoning_content;
    if (typeof delta["refusal"] === "string") this.#refusal += delta["refusal"];
    if (isObject(delta["audio"])) this.#addAudio(delta["audio"]);
    for (const part of delta.tool_calls ?? []) {
      const call = (this.#calls[part.index ?? 0] ??= {
        id: part.id ?? "",
        type: "function",
        function: { name: "", arguments: "" },
      });
      call.function!.name += part.function?.name ?? "";
      call.function!.arguments += part.function?.arguments ?? "";
    }
    this.#reason = finish_reason ?? this.#reason;
  }

  /** Words and sound come in pieces, and in events of their own. */
  #addAudio({ transcript, data, ...others }: Record<string, unknown>): void {
    const before = (this.#audio ??= { data: "", transcript: "" });
    if (typeof transcript === "string") before["transcript"] += transcript;
    if (typeof data === "string") before["data"] += data;
    Object.assign(before, others);
  }

  end(): { message: ChatMessage; finish_reason: string } {
    const calls = this.#calls;
    const message: ChatMessage = {
      role: "assistant",
      content: this.#text === "" && (calls.length > 0 || this.#refusal !== "" || this.#audio) ? null : this.#text,
      refusal: this.#refusal === "" ? undefined : this.#refusal,
      audio: this.#audio,
      reasoning_content: this.#reasoning === "" ? undefined : this.#reasoning,
      tool_calls: calls.length > 0 ? calls : undefined,
    };
    return { message, finish_reason: this.#reason ?? "stop" };
  }
}
