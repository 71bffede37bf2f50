/**
 * Everything that plugins written against `portico/chat` need: providers whose decoders write bytes of an OpenAI
 * stream, and routes whose translators take chunks. The engine uses both through the two adapters at the end.
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

/** Token counts with OpenAI's names. */
interface UsageLike {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** The members that all chunks of a stream share. */
interface ChunkWriterOptions {
  /** The id of every chunk, as `chatcmpl-…`. */
  id: string;
  /** In Unix seconds. */
  created: number;
  model: string;
  /** Whether the caller set `stream_options.include_usage`: otherwise `usage()` writes nothing. */
  includeUsage?: boolean;
}

/**
 * Collects events until `take()`, so that the events of one read are sent in one write. Writes the role separately
 * before the first delta of each choice.
 */
export interface ChunkWriter {
  /** Writes the role alone, so that it is sent before any content. */
  role(choice?: number): void;
  text(content: string, choice?: number): void;
  /** Writes `delta.reasoning_content`. */
  reasoning(content: string, choice?: number): void;
  /** Writes the start of a tool call. `index` counts the calls of a choice from 0. */
  toolCall(index: number, id: string, name: string, args?: string, choice?: number): void;
  /** Writes a further fragment of the arguments of a call that was started. */
  toolArguments(index: number, fragment: string, choice?: number): void;
  /** Writes any other delta, with `logprobs` next to it. */
  delta(delta: Record<string, unknown>, choice?: number, logprobs?: unknown): void;
  /** Writes the choice's finish reason. A second one is ignored. */
  finish(reason: string, choice?: number): void;
  /** Writes the usage chunk if the caller requested it. */
  usage(usage: UsageLike): void;
  /** Writes `data: [DONE]`. */
  done(): void;
  /** Returns the bytes since the last call; undefined if there are none. */
  take(): Buffer | undefined;
}

/** See {@link ChunkWriter}. */
export function createChunkWriter(options: ChunkWriterOptions): ChunkWriter {
  const { id, created, model } = options;
  const head = { id, object: "chat.completion.chunk", created, model };
  const startedChoices = new Set<number>();
  const finishedChoices = new Set<number>();
  let out = "";

  function write(choice: object): void {
    out += `data: ${JSON.stringify({ ...head, choices: [choice] })}\n\n`;
  }

  function open(index: number): void {
    if (startedChoices.has(index)) return;
    startedChoices.add(index);
    write({ index, delta: { role: "assistant", content: "" }, finish_reason: null });
  }

  function writeDelta(index: number, delta: object, members: object = {}): void {
    open(index);
    write({ index, delta, ...members, finish_reason: null });
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
      if (finishedChoices.has(choice)) return;
      finishedChoices.add(choice);
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

/** The decoding of one provider. `createDecoder` adds the order in which bytes and failures are returned. */
export interface Decoding<U> {
  /** Reads bytes that may be split anywhere, and writes their content. */
  push(bytes: Buffer): void;
  /** Reads the rest of the input at its end. */
  flush?(): void;
  /** Ends a response whose last event is missing. Throws if it was cut short. */
  close(): void;
  /** Returns the bytes that were written since the last call. */
  take(): Buffer | undefined;
  usage(): U | undefined;
  finishReason(): string | undefined;
  text?(): string;
  failure(): PorticoError | undefined;
  done(): boolean;
}

/** Creates a decoder that returns the bytes before a failure first. The caller then finds the failure in `failure`. */
export function createDecoder<U>(decoding: Decoding<U>): Decoder<U> {
  return new Decoder(decoding);
}

// A class, because V8 keeps getters of an object literal with their stream until the next full garbage collection.
class Decoder<U> {
  readonly #decoding: Decoding<U>;

  constructor(decoding: Decoding<U>) {
    this.#decoding = decoding;
  }
  push(bytes: Buffer): Buffer | undefined {
    this.#decoding.push(bytes);
    return this.#takeOrThrow();
  }
  end(): Buffer | undefined {
    const decoding = this.#decoding;
    const failure = decoding.failure();
    if (failure !== undefined) throw failure;
    decoding.flush?.();
    if (decoding.failure() === undefined && !decoding.done()) decoding.close();
    return this.#takeOrThrow();
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

  #takeOrThrow(): Buffer | undefined {
    const bytes = this.#decoding.take();
    if (bytes !== undefined) return bytes;
    const failure = this.#decoding.failure();
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

/** Decoder of a stream whose events, or lines, are JSON objects. The provider only interprets each of them. */

export interface JsonDecoderOptions<Event> {
  /** `events`: server-sent events with JSON in `data`; `lines`: one JSON object per line. */
  form: "events" | "lines";
  /** Whether the caller requested the usage chunk: `wantsUsage(request)`, stored in `WireRequest.state`. */
  includeUsage: boolean;
  /**
   * Writes the content of an event. An exception ends the stream with that error: throw `upstreamError` for an error
   * event.
   */
  read(event: Event, out: JsonOut): void;
}

/**
 * `end` closes the stream with OpenAI's reason: `stop`, `length`, `tool_calls`, `content_filter`. Later events are
 * ignored.
 */
export interface JsonOut
  extends Pick<ChunkWriter, "text" | "reasoning" | "toolCall" | "toolArguments" | "delta"> {
  end(reason: string, usage?: Usage): void;
}

/** Creates a decoder. A stream that ends without `end` fails as cut short. `[DONE]` is not passed to `read`. */
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
      // Anything else is a bug of the provider, and is reported as such.
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

/** Converts a stream of content blocks (Anthropic's Messages, Bedrock's Converse) into chunks in OpenAI's format. */

/** Writes content blocks. Each is identified by its index; several may be open. */
interface BlockStream {
  /** Begins a call. `input`: its arguments, if no fragments follow. */
  toolCall(block: number, id: string | undefined, name: string | undefined, input?: unknown): void;
  toolArguments(block: number, fragment: string): void;
  reasoning(block: number, text: string): void;
  signature(block: number, text: string): void;
  /** Adds reasoning that only the upstream can read. */
  sealed(data: string): void;
  end(block: number): void;
  /** Ends blocks that were never closed, since their calls still need arguments. Returns true if there were calls. */
  endAll(): boolean;
}

/** A block whose end was not received yet. */
interface OpenBlock {
  /** Its index among the calls; -1 for any other block. */
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

  /** Opens a block, because some have no start event. */
  function open(block: number): OpenBlock {
    let state = blocks.get(block);
    if (state === undefined) {
      state = { call: -1, input: undefined, fragments: false, thinking: "", signature: "" };
      blocks.set(block, state);
    }
    return state;
  }

  function end(block: number): void {
    const endedBlock = blocks.get(block);
    if (endedBlock === undefined) return;
    blocks.delete(block);
    const { call, input, fragments, signature } = endedBlock;
    if (call >= 0 && !fragments) out().toolArguments(call, completeArguments(input));
    if (signature !== "") thinking.push({ text: endedBlock.thinking, signature });
  }

  return {
    toolCall(block, id, name = "", input) {
      const state = open(block);
      state.call = calls++;
      state.input = input;
      out().toolCall(state.call, clientCallId(id), names.original(name));
    },
    toolArguments(block, fragment) {
      const state = open(block);
      if (state.call < 0) return;
      state.fragments ||= fragment.trim() !== "";
      out().toolArguments(state.call, fragment);
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
      // Only a conversation with tool calls needs the signatures again.
      if (calls > 0 && thinking.length > 0)
        out().delta({ extra_content: carryThinking(origin, thinking) });
      return calls > 0;
    },
  };
}

/** Formerly a shortcut through a stream of text deltas. Now every event goes to the parser, with the same result. */

/** The members that still have an effect. */
interface FastPathOptions {
  /** Reads events from bytes that may be split anywhere. */
  parser: { push(bytes: Buffer): void; end(): void };
}

/** @deprecated Pass the bytes to the parser. */
export function createFastPath({ parser }: FastPathOptions) {
  return {
    push: (bytes: Buffer) => parser.push(bytes),
    end: () => parser.end(),
    learn() {},
    takeLast: (): Buffer | undefined => undefined,
  };
}

/**
 * Adapts providers written against `portico/chat`, whose decoders write bytes of an OpenAI stream: parses these bytes
 * into parts again.
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
    // The decoder writes the usage only if the client requested it, but always knows it.
    if (usage === undefined || usage === this.#usage) return parts;
    this.#usage = usage;
    return [...parts, { type: "usage", usage }];
  }
}

/** Adapts routes written against `portico/chat`, whose translators take chunks in OpenAI's format. */

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
