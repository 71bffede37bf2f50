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
  /** Text of the first choice as a range of bytes of a JSON string without its quotes, already escaped: copied as they are. */
  textSlice(bytes: Buffer, start: number, end: number): void;
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
  // A "binary string": one char per byte of UTF-8. Appending and encoding such strings are plain copies.
  let out = "";
  let head = "";
  let textHead: Buffer | undefined;
  /** What stands between two texts that follow each other. */
  let textJoint: Buffer | undefined;
  // Slices of text are put together in `scratch`; from `taken` to `size` it holds what did not go out yet, where the last
  // text still lacks its end.
  let scratch = NOTHING;
  let taken = 0;
  let size = 0;
  let pieces: Buffer[] = [];
  const started = new Set<number>();
  const finished = new Set<number>();

  function prefix(choice: number): string {
    if (head === "") {
      const fields = {
        id: options.id,
        object: "chat.completion.chunk",
        created: options.created,
        model: options.model,
      };
      head = `data: ${bytesOf(JSON.stringify(fields)).slice(0, -1)},"choices":[`;
    }
    return `${head}{"index":${choice},"delta":`;
  }

  function open(choice: number): string {
    const start = prefix(choice);
    if (!started.has(choice)) {
      started.add(choice);
      out += `${start}{"role":"assistant","content":""},"finish_reason":null}]}\n\n`;
    }
    return start;
  }

  function write(choice: number, delta: string): void {
    // `open` appends too: it must have run before `out` is read.
    const start = open(choice);
    out += `${start}${delta},"finish_reason":null}]}\n\n`;
  }

  /** What was written so far becomes a piece, so that what comes next stands behind it. */
  function spill(): void {
    if (size > taken) {
      size += TEXT_TAIL.copy(scratch, size);
      pieces.push(scratch.subarray(taken, size));
      taken = size;
    }
    if (out !== "") {
      pieces.push(Buffer.from(out, "latin1"));
      out = "";
    }
  }

  return {
    role(choice = 0) {
      open(choice);
    },
    text(content, choice = 0) {
      write(choice, `{"content":${bytesOf(JSON.stringify(content))}}`);
    },
    textSlice(bytes, start, end) {
      textHead ??= Buffer.from(`${open(0)}{"content":"`, "latin1");
      textJoint ??= Buffer.concat([TEXT_TAIL, textHead]);
      if (out !== "") spill();
      const needed = textJoint.length + (end - start) + TEXT_TAIL.length;
      if (size + needed > scratch.length) {
        spill();
        scratch = Buffer.allocUnsafe(
          Math.max(needed, scratch === NOTHING ? FIRST_SCRATCH : SCRATCH),
        );
        taken = 0;
        size = 0;
      }
      size += (size > taken ? textJoint : textHead).copy(scratch, size);
      // A copy of a few bytes costs less here than a call.
      if (end - start > 64) size += bytes.copy(scratch, size, start, end);
      else for (let i = start; i < end; i++) scratch[size++] = bytes[i] as number;
    },
    reasoning(content, choice = 0) {
      write(choice, `{"reasoning_content":${bytesOf(JSON.stringify(content))}}`);
    },
    toolCall(index, id, name, args = "", choice = 0) {
      const call = { index, id, type: "function", function: { name, arguments: args } };
      write(choice, bytesOf(JSON.stringify({ tool_calls: [call] })));
    },
    toolArguments(index, fragment, choice = 0) {
      if (fragment === "") return;
      write(
        choice,
        bytesOf(JSON.stringify({ tool_calls: [{ index, function: { arguments: fragment } }] })),
      );
    },
    delta(delta, choice = 0, logprobs) {
      const beside = logprobs == null ? "" : `,"logprobs":${JSON.stringify(logprobs)}`;
      write(choice, bytesOf(JSON.stringify(delta) + beside));
    },
    finish(reason, choice = 0) {
      if (finished.has(choice)) return;
      finished.add(choice);
      const start = open(choice);
      out += `${start}{},"finish_reason":${JSON.stringify(reason)}}]}\n\n`;
    },
    usage(usage) {
      if (options.includeUsage !== true) return;
      prefix(0);
      out += `${head}],"usage":${JSON.stringify(usage)}}\n\n`;
    },
    done() {
      out += "data: [DONE]\n\n";
    },
    take() {
      if (pieces.length === 0 && size === taken) {
        if (out === "") return undefined;
        const bytes = Buffer.from(out, "latin1");
        out = "";
        return bytes;
      }
      spill();
      const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
      pieces = [];
      return bytes;
    },
  };
}

const TEXT_TAIL = Buffer.from('"},"finish_reason":null}]}\n\n');
const NOTHING = Buffer.alloc(0);
/** Bytes for a short response, then for a longer one. */
const FIRST_SCRATCH = 1024;
const SCRATCH = 8192;

/** UTF-8 as a binary string; text that is ASCII already is returned as it is. */
function bytesOf(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 127) return Buffer.from(text, "utf8").toString("latin1");
  }
  return text;
}
