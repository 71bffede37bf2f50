/** The stream of a provider that does nothing but stream, as one response. */
import type { ChatChunk, ChatCompletion, ChatMessage, ToolCallPart, Usage } from "portico/chat";
import { type ResponseStream, clientDisconnected, type Job } from "../../job.ts";
import { type CompletionDefaults, textCompletion } from "../../openai/completion.ts";
import { isObject } from "../../openai/fields.ts";
import { readChunks } from "../../openai/read-chunks.ts";

/** Reads the stream to its end. Rejects where it breaks off, or the client disconnects. */
export function gather(
  stream: ResponseStream,
  job: Job,
  defaults: CompletionDefaults,
): Promise<ChatCompletion> {
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
      completion.choices = choices.flatMap((gathered, index) => [
        { index, ...gathered.end(), logprobs: null },
      ]);
      if (usage !== undefined) completion.usage = usage;
    },
  };
}

class Gathered {
  #text = "";
  #reasoning = "";
  #refusal = "";
  #audio: Record<string, unknown> | undefined;
  /** Pictures, annotations, a call of the old form, what a provider wants to see again. */
  #more: Record<string, unknown> = {};
  #calls: ToolCallPart[] = [];
  #reason: string | null = null;

  addText(text: string): void {
    this.#text += text;
  }

  add({ delta, finish_reason }: ChatChunk["choices"][0]): void {
    const {
      role: _,
      content,
      reasoning: __,
      reasoning_content: reasoning,
      refusal,
      audio,
      tool_calls,
      ...more
    } = delta;
    if (typeof content === "string") this.addText(content);
    if (typeof reasoning === "string") this.#reasoning += reasoning;
    if (typeof refusal === "string") this.#refusal += refusal;
    if (isObject(audio)) this.#addAudio(audio);
    for (const { index = 0, id = "", type: ___, function: fn, ...others } of tool_calls ?? []) {
      const call = (this.#calls[index] ??= {
        id,
        type: "function",
        function: { name: "", arguments: "" },
      });
      call.function!.name += fn?.name ?? "";
      call.function!.arguments += fn?.arguments ?? "";
      Object.assign(call, others);
    }
    for (const [key, value] of Object.entries(more)) this.#addMore(key, value);
    this.#reason = finish_reason ?? this.#reason;
  }

  /** Lists come in pieces, and so do the arguments of a call. */
  #addMore(key: string, value: unknown): void {
    const before = this.#more[key];
    if (Array.isArray(before) && Array.isArray(value)) for (const one of value) before.push(one);
    else if (isObject(before) && isObject(value)) {
      const args = `${before["arguments"] ?? ""}${value["arguments"] ?? ""}`;
      Object.assign(before, value, key === "function_call" && { arguments: args });
    } else if (value != null) this.#more[key] = Array.isArray(value) ? [...value] : value;
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
    const says =
      calls.length > 0 || this.#refusal !== "" || this.#audio || this.#more["function_call"];
    const message: ChatMessage = {
      ...this.#more,
      role: "assistant",
      content: this.#text === "" && says ? null : this.#text,
      refusal: this.#refusal === "" ? undefined : this.#refusal,
      audio: this.#audio,
      reasoning_content: this.#reasoning === "" ? undefined : this.#reasoning,
      tool_calls: calls.length > 0 ? calls : undefined,
    };
    return { message, finish_reason: this.#reason ?? "stop" };
  }
}
