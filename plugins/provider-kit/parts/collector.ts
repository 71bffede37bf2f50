/** Collects the parts of a stream into a whole response. */
import { isObject } from "../request/is-object.ts";
import type { ChatCompletion, ChatMessage, ToolCallPart, Usage } from "../types/format.ts";
import type { RawPart, StreamedCallPart, StreamPart } from "../types/parts.ts";
import type { PartDefaults } from "./part-writer.ts";
import { SignedReasoning } from "./signed-reasoning.ts";

export class PartCollector {
  #head: PartDefaults;
  readonly #choices = new Map<number, CollectedChoice>();
  #usage: Usage | undefined;
  #members: Record<string, unknown> = {};

  constructor(defaults: PartDefaults) {
    this.#head = defaults;
  }

  add(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (part.type === "start") this.#head = part;
      else if (part.type === "usage") this.#usage = part.usage;
      else if (part.type === "raw" && part.at === "chunk") this.#addMembers(part);
      else if (part.type !== "comment") this.#choiceOf(part.choice).add(part);
    }
  }

  /** The text of the first choice. */
  get text(): string {
    return this.#choices.get(0)?.text ?? "";
  }

  completion(): ChatCompletion {
    const { id, created, model } = this.#head;
    const choices = [...this.#choices].sort(([a], [b]) => a - b);
    const { obfuscation: _, ...members } = this.#members;
    return {
      id,
      object: "chat.completion",
      created,
      model,
      choices: choices.map(([index, choice]) => ({ index, ...choice.end(), logprobs: null })),
      ...(this.#usage !== undefined && { usage: this.#usage }),
      ...members,
    };
  }

  #addMembers({ members, format }: RawPart): void {
    // An event of another format repeats what other parts contain.
    if (format === undefined) Object.assign(this.#members, members);
  }

  #choiceOf(index: number): CollectedChoice {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = new CollectedChoice();
      this.#choices.set(index, choice);
    }
    return choice;
  }
}

type ChoicePart = Exclude<StreamPart, { type: "start" | "usage" | "comment" }>;

class CollectedChoice {
  text = "";
  #reasoning = "";
  #refusal = "";
  #audio: Record<string, unknown> | undefined;
  readonly #annotations: Record<string, unknown>[] = [];
  /** Images, and members that a provider requires in later requests. */
  readonly #members: Record<string, unknown> = {};
  readonly #calls: (ToolCallPart & { custom?: { name: string; input: string } })[] = [];
  readonly #signatures = new SignedReasoning();
  #finishReason: string | undefined;

  add(part: ChoicePart): void {
    switch (part.type) {
      case "text":
        this.text += part.text;
        return;
      case "reasoning":
        this.#reasoning += part.text;
        return;
      case "refusal":
        this.#refusal += part.text;
        return;
      case "reasoning-signature":
        this.#signatures.add(part);
        return;
      case "tool-call":
        this.#addCall(part);
        return;
      case "tool-arguments":
        this.#addArguments(part.index, part.text);
        return;
      case "audio":
        this.#addAudio(part.transcript, part.members);
        return;
      case "annotation":
        this.#annotations.push(part.annotation);
        return;
      case "finish":
        this.#finishReason = part.reason;
        return;
      case "raw":
        this.#addRaw(part);
    }
  }

  end(): { message: ChatMessage; finish_reason: string } {
    const calls = this.#calls;
    const hasOtherContent = calls.length > 0 || this.#refusal !== "" || this.#audio !== undefined;
    const extra = this.#signatures.extraContent(calls.length > 0);
    const message: ChatMessage = {
      ...this.#members,
      role: "assistant",
      content: this.text === "" && hasOtherContent ? null : this.text,
      refusal: this.#refusal === "" ? undefined : this.#refusal,
      audio: this.#audio,
      annotations: this.#annotations.length === 0 ? undefined : this.#annotations,
      reasoning_content: this.#reasoning === "" ? undefined : this.#reasoning,
      tool_calls: calls.length > 0 ? calls : undefined,
    };
    for (const { function: fn } of calls)
      if (fn !== undefined && fn.arguments === "") fn.arguments = "{}";
    if (extra !== undefined) message["extra_content"] = extra;
    return { message, finish_reason: this.#finishReason ?? "stop" };
  }

  #addCall({ index, id, name, custom, extra }: StreamedCallPart): void {
    this.#calls[index] = {
      id,
      ...(custom === true
        ? { type: "custom", custom: { name, input: "" } }
        : { type: "function", function: { name, arguments: "" } }),
      ...(extra != null && { extra_content: extra }),
    };
  }

  #addArguments(index: number, text: string): void {
    const call = this.#calls[index];
    if (call?.custom !== undefined) call.custom.input += text;
    else if (call?.function !== undefined) call.function.arguments += text;
  }

  /** The transcript and the sound arrive in fragments, and in separate events. */
  #addAudio(transcript: string, { data, ...others }: Record<string, unknown>): void {
    this.#audio ??= { data: "", transcript: "" };
    this.#audio["transcript"] += transcript;
    if (typeof data === "string") this.#audio["data"] += data;
    Object.assign(this.#audio, others);
  }

  #addRaw({ at, index, members }: RawPart): void {
    const call = at === "call" && index !== undefined ? this.#calls[index] : undefined;
    if (call !== undefined) Object.assign(call, members);
    if (at !== "delta") return;
    for (const [key, value] of Object.entries(members)) this.#addMember(key, value);
  }

  /** Adds a member of the delta. Lists and objects arrive in fragments, which are merged. */
  #addMember(key: string, value: unknown): void {
    const existing = this.#members[key];
    if (Array.isArray(existing) && Array.isArray(value)) {
      for (const item of value) existing.push(item);
    } else if (isObject(existing) && isObject(value)) Object.assign(existing, value);
    else if (value != null) this.#members[key] = copyOf(value);
  }
}

/** Copies a list or an object, so that more can be added to it. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  return isObject(value) ? { ...value } : value;
}
