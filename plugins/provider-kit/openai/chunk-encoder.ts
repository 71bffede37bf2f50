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
  /** True if the client asked for the usage chunk. */
  includeUsage: boolean;
  /** True if the client does not support tools, so that calls are written as `function_call`. */
  functionCalls?: boolean;
}

interface ChoiceState {
  reasoning: SignedReasoning;
  hasCalls: boolean;
}

type Delta = Record<string, unknown>;

/** Encodes parts as chunks. Its sink serialises them for clients, or passes objects to callers of the service `chat`. */
export class ChunkEncoder {
  readonly #sink: ChunkSink;
  readonly #options: ChunkOptions;
  #head: Pick<ChatChunk, "id" | "object" | "created" | "model">;
  readonly #choices = new Map<number, ChoiceState>();
  /** The choices whose role has been written. */
  readonly #openedChoices = new Set<number>();
  #usage: UsagePart | undefined;
  /** Unknown members of an upstream's chunk. The next chunk that is written contains them. */
  #chunkMembers: Record<string, unknown> | undefined;
  /** Unknown members of a choice. The next chunk that is written has them beside its delta. */
  #choiceMembers: Record<string, unknown> | undefined;

  constructor(options: ChunkOptions, sink: ChunkSink) {
    this.#options = options;
    this.#sink = options.functionCalls === true ? functionCallSink(sink) : sink;
    this.#head = headFrom(options);
  }

  get usage(): Usage | undefined {
    return this.#usage?.usage;
  }

  write(parts: readonly StreamPart[]): void {
    writeParts(parts, "openai", {
      event: (event) => this.#writeEvent(event),
      part: (part, next) => this.#writePart(part, next),
    });
    this.#chunkMembers = undefined;
    this.#choiceMembers = undefined;
  }

  /** Writes the usage chunk if the client asked for it. */
  end(): void {
    if (!this.#options.includeUsage || this.#usage === undefined) return;
    const { source, usage } = this.#usage;
    const isUnchanged = source?.format === "openai" && source.value["usage"] === usage;
    if (source !== undefined && isUnchanged) this.#sink.event(source);
    else this.#sink.chunk({ ...this.#head, choices: [], usage });
  }

  #writeEvent(event: SourceEvent): void {
    const [first] = event.parts;
    if (first?.type === "usage") {
      this.#usage = first;
      return;
    }
    // A feature may have inserted parts before the event that contains the role.
    const isRoleWritten = event.opens.some((choice) => this.#openedChoices.has(choice));
    for (const choice of event.opens) this.#openedChoices.add(choice);
    for (const part of event.parts) {
      if (!("choice" in part)) continue;
      if (part.type !== "raw" || part.at !== "chunk") this.#openChoice(part.choice);
      if (part.type === "tool-call") this.#stateOf(part.choice).hasCalls = true;
    }
    if (!isRoleWritten) {
      this.#sink.event(event);
      return;
    }
    const chunk = event.value as unknown as ChatChunk;
    this.#sink.chunk({ ...chunk, choices: chunk.choices.map(withoutRole) });
  }

  /** Returns true if it has also written the next part. */
  #writePart(part: StreamPart, next: StreamPart | undefined): boolean {
    if (part.type === "tool-call") return this.#writeCall(part, next);
    this.#writeSingle(part);
    return false;
  }

  #writeSingle(part: Exclude<StreamPart, { type: "tool-call" }>): void {
    switch (part.type) {
      case "start":
        this.#head = headFrom(part);
        return;
      case "text":
        this.#writeDelta(part.choice, { content: part.text }, part.logprobs);
        return;
      case "reasoning":
        this.#writeDelta(part.choice, { reasoning_content: part.text });
        return;
      case "refusal":
        this.#writeDelta(part.choice, { refusal: part.text }, part.logprobs);
        return;
      case "reasoning-signature":
        this.#stateOf(part.choice).reasoning.add(part);
        return;
      case "tool-arguments":
        this.#writeDelta(part.choice, {
          tool_calls: [this.#callFragment(part.choice, part.index, part.text)],
        });
        return;
      case "audio":
        this.#writeDelta(part.choice, { audio: encodeAudio(part) });
        return;
      case "annotation":
        this.#writeDelta(part.choice, { annotations: [part.annotation] });
        return;
      case "finish":
        this.#writeFinish(part.choice, part.reason);
        return;
      case "usage":
        this.#usage = part;
        return;
      case "raw":
        this.#writeRaw(part);
        return;
      case "comment":
        this.#sink.comment(part.text);
    }
  }

  /** Writes a call, with its arguments if they came with it. Returns true in that case. */
  #writeCall(part: StreamedCallPart, next: StreamPart | undefined): boolean {
    const { choice, index, id, name, custom, extra } = part;
    const hasArguments =
      part.withArguments === true &&
      next?.type === "tool-arguments" &&
      next.choice === choice &&
      next.index === index;
    const args = hasArguments ? next.text : "";
    this.#stateOf(choice).hasCalls = true;
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
    this.#writeDelta(choice, { tool_calls: [call] });
    return hasArguments;
  }

  readonly #customCalls = new Set<string>();

  #callFragment(choice: number, index: number, text: string): object {
    return this.#customCalls.has(`${choice}.${index}`)
      ? { index, custom: { input: text } }
      : { index, function: { arguments: text } };
  }

  #writeRaw({ at, choice, index, members }: RawPart): void {
    if (at === "chunk") this.#chunkMembers = { ...this.#chunkMembers, ...members };
    else if (at === "choice") this.#choiceMembers = { ...this.#choiceMembers, ...members };
    else if (at === "call") this.#writeDelta(choice, { tool_calls: [{ index, ...members }] });
    else this.#writeDelta(choice, members);
  }

  #writeFinish(choice: number, reason: string): void {
    const { reasoning, hasCalls } = this.#stateOf(choice);
    const extra = reasoning.extraContent(hasCalls);
    if (extra !== undefined) this.#writeDelta(choice, { extra_content: extra });
    this.#writeChoice(choice, {}, reason);
  }

  #writeDelta(choice: number, delta: Delta, logprobs?: unknown): void {
    this.#writeChoice(choice, delta, null, logprobs);
  }

  #writeChoice(
    choice: number,
    delta: Delta,
    finish_reason: string | null,
    logprobs?: unknown,
  ): void {
    this.#openChoice(choice);
    const members = logprobs == null ? this.#choiceMembers : { logprobs, ...this.#choiceMembers };
    this.#sink.chunk({
      ...this.#head,
      choices: [{ index: choice, delta, finish_reason, ...members }],
      ...this.#chunkMembers,
    });
    this.#chunkMembers = undefined;
    this.#choiceMembers = undefined;
  }

  /** Writes the role of a choice, which has to come before anything else of it. */
  #openChoice(choice: number): void {
    if (this.#openedChoices.has(choice)) return;
    this.#openedChoices.add(choice);
    this.#sink.chunk({
      ...this.#head,
      choices: [{ index: choice, delta: { role: "assistant", content: "" }, finish_reason: null }],
    });
  }

  #stateOf(choice: number): ChoiceState {
    let state = this.#choices.get(choice);
    if (state === undefined) {
      state = { reasoning: new SignedReasoning(), hasCalls: false };
      this.#choices.set(choice, state);
    }
    return state;
  }
}

function withoutRole<C extends ChatChunk["choices"][number]>(choice: C): C {
  const { role: _, ...delta } = choice.delta;
  return { ...choice, delta };
}

function headFrom({ id, created, model }: PartDefaults) {
  return { id, object: "chat.completion.chunk" as const, created, model };
}

function encodeAudio({ transcript, members }: { transcript: string; members: object }): object {
  return transcript === "" ? members : { ...members, transcript };
}
