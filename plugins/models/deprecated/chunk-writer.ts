/** Writes an OpenAI chat completion stream (`chat.completion.chunk` events) as bytes. */

/** Token counts as OpenAI names them. */
interface UsageLike {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** What all chunks of a stream share. */
export interface ChunkWriterOptions {
  /** The same on every chunk: `chatcmpl-…`. */
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** The caller asked for it with `stream_options.include_usage`: otherwise `usage()` writes nothing. */
  includeUsage?: boolean;
}

/**
 * Collects events until `take()`, so that what one read brought leaves as one write. The role goes out by itself before
 * the first delta of each choice.
 */
export interface ChunkWriter {
  /** Writes the role alone, where it should be out before any content. */
  role(choice?: number): void;
  text(content: string, choice?: number): void;
  /** `delta.reasoning_content`. */
  reasoning(content: string, choice?: number): void;
  /** The start of a tool call. `index` counts the calls of a choice from 0. */
  toolCall(index: number, id: string, name: string, args?: string, choice?: number): void;
  /** A further fragment of the arguments of a call that was started. */
  toolArguments(index: number, fragment: string, choice?: number): void;
  /** Any other delta; `logprobs` stands beside it. */
  delta(delta: Record<string, unknown>, choice?: number, logprobs?: unknown): void;
  /** The choice's finish reason. A second one is ignored. */
  finish(reason: string, choice?: number): void;
  /** The usage chunk, where the caller asked for it. */
  usage(usage: UsageLike): void;
  /** `data: [DONE]`. */
  done(): void;
  /** The bytes since the last call; undefined where there are none. */
  take(): Buffer | undefined;
}

/** See {@link ChunkWriter}. */
export function createChunkWriter(options: ChunkWriterOptions): ChunkWriter {
  const { id, created, model } = options;
  const head = { id, object: "chat.completion.chunk", created, model };
  const started = new Set<number>();
  const finished = new Set<number>();
  let out = "";

  function write(choice: object): void {
    out += `data: ${JSON.stringify({ ...head, choices: [choice] })}\n\n`;
  }

  function open(index: number): void {
    if (started.has(index)) return;
    started.add(index);
    write({ index, delta: { role: "assistant", content: "" }, finish_reason: null });
  }

  function writeDelta(index: number, delta: object, beside: object = {}): void {
    open(index);
    write({ index, delta, ...beside, finish_reason: null });
  }

  return {
    role: (choice = 0) => open(choice),
    text: (content, choice = 0) => writeDelta(choice, { content }),
    reasoning: (content, choice = 0) => writeDelta(choice, { reasoning_content: content }),
    toolCall(index, id, name, args = "", choice = 0) {
      const call = { index, id, type: "function", function: { name, arguments: args } };
      writeDelta(choice, { tool_calls: [call] });
    },
    toolArguments(index, fragment, choice = 0) {
      if (fragment === "") return;
      writeDelta(choice, { tool_calls: [{ index, function: { arguments: fragment } }] });
    },
    delta: (delta, choice = 0, logprobs) =>
      writeDelta(choice, delta, logprobs == null ? {} : { logprobs }),
    finish(reason, choice = 0) {
      if (finished.has(choice)) return;
      finished.add(choice);
      open(choice);
      write({ index: choice, delta: {}, finish_reason: reason });
    },
    usage(usage) {
      if (options.includeUsage !== true) return;
      out += `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`;
    },
    done() {
      out += "data: [DONE]\n\n";
    },
    take() {
      if (out === "") return undefined;
      const bytes = Buffer.from(out);
      out = "";
      return bytes;
    },
  };
}
