/** Writes parts as chunks in OpenAI's form (`chat.completion.chunk`). */
import { SignedReasoning } from "../parts/signed-reasoning.ts";
import type { PartDefaults } from "../parts/part-writer.ts";
import { writeParts } from "../parts/source.ts";
import type { ChunkSink } from "./chunk-sink.ts";
import { functionCallSink } from "./function-call.ts";
import type { ChatChunk, ToolCallPart, Usage } from "../types/format.ts";
import type {
  RawPart,
  SourceEvent,
  StreamedCallPart,
  StreamPart,
  UsagePart,
} from "../types/parts.ts";

export interface ChunkOptions extends PartDefaults {
  /** The client asked for the usage chunk. */
  includeUsage: boolean;
  /** True if the client does not know tools, so that calls are written as `function_call`. */
  functionCalls?: boolean;
}

interface ChoiceState {
  signed: SignedReasoning;
  called: boolean;
}

type Delta = Record<string, unknown>;

/** Both for clients, as text, and for callers of the service `chat`, as objects. */
export class ChunkEncoder {
  readonly #sink: ChunkSink;
  readonly #options: ChunkOptions;
  #head: Pick<ChatChunk, "id" | "object" | "created" | "model">;
  readonly #choices = new Map<number, ChoiceState>();
  /** Choices whose role has gone out. */
  readonly #opened = new Set<number>();
  #usage: UsagePart | undefined;
  /** Members of a chunk that is encoded again, until its next delta. */
  #members: Record<string, unknown> | undefined;
  /** Members beside the delta. */
  #beside: Record<string, unknown> | undefined;

  constructor(options: ChunkOptions, sink: ChunkSink) {
    this.#options = options;
    this.#sink = options.functionCalls === true ? functionCallSink(sink) : sink;
    this.#head = headOf(options);
  }

  get usage(): Usage | undefined {
    return this.#usage?.usage;
  }

  write(parts: readonly StreamPart[]): void {
    writeParts(parts, "openai", {
      event: (event) => this.#event(event),
      part: (part, next) => this.#part(part, next),
    });
    this.#members = undefined;
    this.#beside = undefined;
  }

  /** The usage chunk, where the client asked for it. */
  end(): void {
    if (!this.#options.includeUsage || this.#usage === undefined) return;
    const { source, usage } = this.#usage;
    const isAsItCame = source?.format === "openai" && source.value["usage"] === usage;
    if (source !== undefined && isAsItCame) this.#sink.event(source);
    else this.#sink.chunk({ ...this.#head, choices: [], usage });
  }

  #event(event: SourceEvent): void {
    const [first] = event.parts;
    if (first?.type === "usage") {
      this.#usage = first;
      return;
    }
    // Something may have been put in front of the event that brings the role.
    const isLate = event.opens.some((choice) => this.#opened.has(choice));
    for (const choice of event.opens) this.#opened.add(choice);
    for (const part of event.parts) {
      if (!("choice" in part)) continue;
      if (part.type !== "raw" || part.at !== "chunk") this.#open(part.choice);
      if (part.type === "tool-call") this.#stateOf(part.choice).called = true;
    }
    if (!isLate) {
      this.#sink.event(event);
      return;
    }
    const chunk = event.value as unknown as ChatChunk;
    this.#sink.chunk({ ...chunk, choices: chunk.choices.map(withoutRole) });
  }

  /** True where the next part was written as well. */
  #part(part: StreamPart, next: StreamPart | undefined): boolean {
    if (part.type === "tool-call") return this.#call(part, next);
    this.#single(part);
    return false;
  }

  #single(part: Exclude<StreamPart, { type: "tool-call" }>): void {
    switch (part.type) {
      case "start":
        this.#head = headOf(part);
        return;
      case "text":
        this.#delta(part.choice, { content: part.text }, part.logprobs);
        return;
      case "reasoning":
        this.#delta(part.choice, { reasoning_content: part.text });
        return;
      case "refusal":
        this.#delta(part.choice, { refusal: part.text }, part.logprobs);
        return;
      case "reasoning-signature":
        this.#stateOf(part.choice).signed.add(part);
        return;
      case "tool-arguments":
        this.#delta(part.choice, {
          tool_calls: [this.#fragment(part.choice, part.index, part.text)],
        });
        return;
      case "audio":
        this.#delta(part.choice, { audio: audioOf(part) });
        return;
      case "annotation":
        this.#delta(part.choice, { annotations: [part.annotation] });
        return;
      case "finish":
        this.#finish(part.choice, part.reason);
        return;
      case "usage":
        this.#usage = part;
        return;
      case "raw":
        this.#raw(part);
        return;
      case "comment":
        this.#sink.comment(part.text);
    }
  }

  /** A call that came with its arguments is written in one chunk. */
  #call(part: StreamedCallPart, next: StreamPart | undefined): boolean {
    const { choice, index, id, name, custom, extra } = part;
    const isTogether =
      part.withArguments === true &&
      next?.type === "tool-arguments" &&
      next.choice === choice &&
      next.index === index;
    const args = isTogether ? next.text : "";
    this.#stateOf(choice).called = true;
    if (custom === true) this.#customCalls.add(`${choice}.${index}`);
    const call: ToolCallPart & { custom?: object } = {
      index,
      id,
      type: custom === true ? "custom" : "function",
      ...(custom === true
        ? { custom: { name, input: args } }
        : { function: { name, arguments: args } }),
      ...(extra != null && { extra_content: extra }),
    };
    this.#delta(choice, { tool_calls: [call] });
    return isTogether;
  }

  readonly #customCalls = new Set<string>();

  #fragment(choice: number, index: number, text: string): object {
    return this.#customCalls.has(`${choice}.${index}`)
      ? { index, custom: { input: text } }
      : { index, function: { arguments: text } };
  }

  #raw({ at, choice, index, members }: RawPart): void {
    if (at === "chunk") this.#members = { ...this.#members, ...members };
    else if (at === "choice") this.#beside = { ...this.#beside, ...members };
    else if (at === "call") this.#delta(choice, { tool_calls: [{ index, ...members }] });
    else this.#delta(choice, members);
  }

  #finish(choice: number, reason: string): void {
    const { signed, called } = this.#stateOf(choice);
    const extra = signed.extraContent(called);
    if (extra !== undefined) this.#delta(choice, { extra_content: extra });
    this.#write(choice, {}, reason);
  }

  #delta(choice: number, delta: Delta, logprobs?: unknown): void {
    this.#write(choice, delta, null, logprobs);
  }

  #write(choice: number, delta: Delta, finish_reason: string | null, logprobs?: unknown): void {
    this.#open(choice);
    const beside = logprobs == null ? this.#beside : { logprobs, ...this.#beside };
    this.#sink.chunk({
      ...this.#head,
      choices: [{ index: choice, delta, finish_reason, ...beside }],
      ...this.#members,
    });
    this.#members = undefined;
    this.#beside = undefined;
  }

  /** The role comes before anything else of a choice. */
  #open(choice: number): void {
    if (this.#opened.has(choice)) return;
    this.#opened.add(choice);
    this.#sink.chunk({
      ...this.#head,
      choices: [{ index: choice, delta: { role: "assistant", content: "" }, finish_reason: null }],
    });
  }

  #stateOf(choice: number): ChoiceState {
    let state = this.#choices.get(choice);
    if (state === undefined) {
      state = { signed: new SignedReasoning(), called: false };
      this.#choices.set(choice, state);
    }
    return state;
  }
}

function withoutRole<C extends ChatChunk["choices"][number]>(choice: C): C {
  const { role: _, ...delta } = choice.delta;
  return { ...choice, delta };
}

function headOf({ id, created, model }: PartDefaults) {
  return { id, object: "chat.completion.chunk" as const, created, model };
}

function audioOf({ transcript, members }: { transcript: string; members: object }): object {
  return transcript === "" ? members : { ...members, transcript };
}
