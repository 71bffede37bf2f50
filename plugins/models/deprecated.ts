/**
 * Everything that plugins of users need which were written against `portico/chat`: providers whose decoders write bytes of an
 * OpenAI stream, and ways in whose translators take chunks. The engine reads both through the two adapters at the end.
 * @deprecated New plugins decode into parts (`decodeJsonStream`, `createPartDecoder`) and write a `StreamEncoder`.
 */
import type { StreamTranslator } from "./kit/types.ts";
import { isPorticoError, type PorticoError } from "portico";
import {
  type BlockOptions,
  carryThinking,
  ChunkEncoder,
  clientCallId,
  createLineParser,
  createOpenAiDecoder,
  createSseParser,
  cutShort,
  newCompletionId,
  notJson,
  parseObject,
  type PartDecoder,
  type PartDefaults,
  type StreamDecoder,
  type StreamEncoder,
  type StreamPart,
  type Target,
  type ThinkingBlock,
  completeArguments,
  type Usage,
} from "portico/provider";

/** Writes an OpenAI chat completion stream (`chat.completion.chunk` events) as bytes. */

/** Token counts as OpenAI names them. */
interface UsageLike {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** What all chunks of a stream share. */
interface ChunkWriterOptions {
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

/** What a provider's decoder knows and does; `createDecoder` adds the order in which bytes and failures come out. */
export interface Decoding<U> {
  /** Reads bytes cut anywhere, and writes what they say. */
  push(bytes: Buffer): void;
  /** Reads what is left of the input at its end. */
  flush?(): void;
  /** Ends a response whose last event did not come. Throws where it was cut short. */
  close(): void;
  /** What was written since the last call. */
  take(): Buffer | undefined;
  usage(): U | undefined;
  finishReason(): string | undefined;
  text?(): string;
  failure(): PorticoError | undefined;
  done(): boolean;
}

/** What came before a failure goes out first; the caller then finds the failure beside it. */
export function createDecoder<U>(decoding: Decoding<U>): Decoder<U> {
  return new Decoder(decoding);
}

// A class for its getters: of those in an object literal, V8 keeps a stream's until the next full garbage collection.
class Decoder<U> {
  readonly #decoding: Decoding<U>;

  constructor(decoding: Decoding<U>) {
    this.#decoding = decoding;
  }
  push(bytes: Buffer): Buffer | undefined {
    this.#decoding.push(bytes);
    return this.#taken();
  }
  end(): Buffer | undefined {
    const decoding = this.#decoding;
    const failure = decoding.failure();
    if (failure !== undefined) throw failure;
    decoding.flush?.();
    if (decoding.failure() === undefined && !decoding.done()) decoding.close();
    return this.#taken();
  }
  get usage(): U | undefined {
    return this.#decoding.usage();
  }
  get finishReason(): string | undefined {
    return this.#decoding.finishReason();
  }
  get text(): string | undefined {
    return this.#decoding.text?.();
  }
  get failure(): PorticoError | undefined {
    return this.#decoding.failure();
  }
  get done(): boolean {
    return this.#decoding.done();
  }

  #taken(): Buffer | undefined {
    const bytes = this.#decoding.take();
    if (bytes !== undefined) return bytes;
    const failure = this.#decoding.failure();
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

/** The decoder of a stream whose events, or lines, are JSON objects: a provider only says what each of them means. */

export interface JsonDecoderOptions<Event> {
  /** Server-sent events, whose `data` is JSON, or a JSON object a line. */
  form: "events" | "lines";
  /** The caller asked for the usage chunk: `wantsUsage(request)`, remembered in `WireRequest.state`. */
  includeUsage: boolean;
  /** Writes what an event says. What it throws ends the stream with that error: `upstreamError` for an error event. */
  read(event: Event, out: JsonOut): void;
}

/** `end` closes the stream with OpenAI's reason: `stop`, `length`, `tool_calls`, `content_filter`. What follows is not read. */
export interface JsonOut
  extends Pick<ChunkWriter, "text" | "reasoning" | "toolCall" | "toolArguments" | "delta"> {
  end(reason: string, usage?: Usage): void;
}

/** A stream that ends without `end` was cut short, and says so. `[DONE]` is not handed on. */
export function createJsonDecoder<Event extends object>(
  target: Pick<Target, "id" | "created" | "model">,
  { form, includeUsage, read }: JsonDecoderOptions<Event>,
): StreamDecoder {
  const { id, created, model } = target;
  const writer = createChunkWriter({ id, created, model, includeUsage });
  let usage: Usage | undefined;
  let finish: string | undefined;
  let failure: PorticoError | undefined;

  const out: JsonOut = {
    text: writer.text,
    reasoning: writer.reasoning,
    toolCall: writer.toolCall,
    toolArguments: writer.toolArguments,
    delta: writer.delta,
    end(reason, reported) {
      if (finish !== undefined) return;
      finish = reason;
      usage = reported;
      writer.finish(reason);
      if (reported !== undefined) writer.usage(reported);
      writer.done();
    },
  };
  const onData = (data: Buffer) => {
    if (failure !== undefined || finish !== undefined || data.equals(DONE)) return;
    const event = parseObject(data);
    try {
      if (event === undefined) throw notJson();
      read(event as Event, out);
    } catch (error) {
      // Anything else is a bug of the provider's, and is reported as one.
      if (!isPorticoError(error)) throw error;
      failure = error;
    }
  };
  const parser = form === "events" ? createSseParser(onData) : createLineParser(onData);
  return createDecoder({
    push: (bytes) => parser.push(bytes),
    flush: () => parser.end(),
    close() {
      throw cutShort();
    },
    take: () => writer.take(),
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => finish !== undefined,
  });
}

const DONE = Buffer.from("[DONE]");

/** A stream of content blocks (Anthropic's Messages, Bedrock's Converse) as chunks in OpenAI's form. */

/** Blocks are named by their index; several may be open. */
interface BlockStream {
  /** Begins a call. `input`: its arguments, where no fragments follow. */
  toolCall(block: number, id: string | undefined, name: string | undefined, input?: unknown): void;
  toolArguments(block: number, fragment: string): void;
  reasoning(block: number, text: string): void;
  signature(block: number, text: string): void;
  /** Reasoning that nobody but the upstream can read. */
  sealed(data: string): void;
  end(block: number): void;
  /** Ends blocks that were never closed: their calls still need arguments. True if there were calls. */
  endAll(): boolean;
}

/** A block whose end has not come yet. */
interface OpenBlock {
  /** Its place among the calls; -1 for what is none. */
  call: number;
  input: unknown;
  fragments: boolean;
  thinking: string;
  signature: string;
}

export function createBlockStream(
  out: () => ChunkWriter,
  { origin, names }: BlockOptions,
): BlockStream {
  const blocks = new Map<number, OpenBlock>();
  const thinking: ThinkingBlock[] = [];
  let calls = 0;

  /** Some blocks begin without a start of their own. */
  function open(block: number): OpenBlock {
    let state = blocks.get(block);
    if (state === undefined) {
      state = { call: -1, input: undefined, fragments: false, thinking: "", signature: "" };
      blocks.set(block, state);
    }
    return state;
  }

  function end(block: number): void {
    const ended = blocks.get(block);
    if (ended === undefined) return;
    blocks.delete(block);
    const { call, input, fragments, signature } = ended;
    if (call >= 0 && !fragments) out().toolArguments(call, completeArguments(input));
    if (signature !== "") thinking.push({ text: ended.thinking, signature });
  }

  return {
    toolCall(block, id, name = "", input) {
      const begun = open(block);
      begun.call = calls++;
      begun.input = input;
      out().toolCall(begun.call, clientCallId(id), names.original(name));
    },
    toolArguments(block, fragment) {
      const begun = open(block);
      if (begun.call < 0) return;
      begun.fragments ||= fragment.trim() !== "";
      out().toolArguments(begun.call, fragment);
    },
    reasoning(block, text) {
      open(block).thinking += text;
      out().reasoning(text);
    },
    signature(block, text) {
      open(block).signature += text;
    },
    sealed: (data) => thinking.push({ sealed: data }),
    end,
    endAll() {
      for (const block of [...blocks.keys()]) end(block);
      // Only a loop of calls needs the signatures again.
      if (calls > 0 && thinking.length > 0)
        out().delta({ extra_content: carryThinking(origin, thinking) });
      return calls > 0;
    },
  };
}

/** Was a shortcut through a stream of text deltas. Every event goes to the parser now, which gives the same. */

/** The members that still mean something. */
interface FastPathOptions {
  /** Reads events. Takes bytes cut anywhere. */
  parser: { push(bytes: Buffer): void; end(): void };
}

/** @deprecated Hand the bytes to the parser. */
export function createFastPath({ parser }: FastPathOptions) {
  return {
    push: (bytes: Buffer) => parser.push(bytes),
    end: () => parser.end(),
    learn() {},
    takeLast: (): Buffer | undefined => undefined,
  };
}

/**
 * Providers that were written against `portico/chat`, whose decoders write bytes of an OpenAI stream: their bytes are read
 * back into parts.
 */

export class AdaptedDecoder implements PartDecoder {
  readonly #bytes: StreamDecoder;
  readonly #parts: PartDecoder;
  #usage: Usage | undefined;

  constructor(bytes: StreamDecoder, defaults: PartDefaults) {
    this.#bytes = bytes;
    this.#parts = createOpenAiDecoder(defaults);
  }

  get failure(): PorticoError | undefined {
    return this.#parts.failure ?? this.#bytes.failure;
  }
  get done(): boolean {
    return this.#parts.done;
  }
  get finished(): boolean {
    return this.#bytes.finishReason !== undefined;
  }

  push(bytes: Buffer): StreamPart[] {
    return this.#read(this.#bytes.push(bytes));
  }

  end(): StreamPart[] {
    const last = this.#read(this.#bytes.end());
    return this.done || this.failure !== undefined ? last : [...last, ...this.#parts.end()];
  }

  #read(bytes: Buffer | undefined): StreamPart[] {
    const parts = bytes === undefined ? [] : this.#parts.push(bytes);
    const { usage } = this.#bytes;
    // It writes its usage only where the client asked for it, and knows it all the same.
    if (usage === undefined || usage === this.#usage) return parts;
    this.#usage = usage;
    return [...parts, { type: "usage", usage }];
  }
}

/** Ways in that were written against `portico/chat`, whose translators take chunks in OpenAI's form. */

export function adaptedTranslator(translator: StreamTranslator): StreamEncoder {
  let out = "";
  const take = (): string => {
    const text = out;
    out = "";
    return text;
  };
  const chunks = new ChunkEncoder(
    {
      id: newCompletionId(),
      created: Math.floor(Date.now() / 1000),
      model: "",
      includeUsage: true,
    },
    {
      chunk: (chunk) => {
        out += translator.chunk(chunk);
      },
      event: ({ value }) => {
        out += translator.chunk(value as unknown as Parameters<StreamTranslator["chunk"]>[0]);
      },
      comment() {},
    },
  );
  const { error } = translator;
  return {
    write(parts) {
      chunks.write(parts);
      return take();
    },
    end() {
      chunks.end();
      const rest = take();
      const last = translator.end();
      return typeof last === "string" ? rest + last : last.then((text) => rest + text);
    },
    fail: (failure) => translator.fail(failure),
    ...(error !== undefined && { error: (failure) => error(failure) }),
  };
}
