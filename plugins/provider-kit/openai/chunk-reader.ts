/** Reads the chunks of one stream in OpenAI's form, and repairs the usual deviations of servers of that format. */
import type { PartWriter } from "../parts/part-writer.ts";
import { OpenSource } from "../parts/source.ts";
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { stringifyExact } from "../json/exact-json.ts";
import { laterUsage } from "../response/later-usage.ts";
import type { Usage } from "../types/format.ts";
import { readFunctionCallDelta } from "./function-call.ts";
import {
  dropOthers,
  finishReasonOf,
  hasCounts,
  isCompletionId,
  repairOwnText,
  repairText,
  repairUsage,
} from "./repair.ts";
import { RepeatedEvent } from "./repeated-event.ts";

const CHUNK_MEMBERS = new Set(["id", "object", "created", "model", "choices", "usage"]);
const CHOICE_MEMBERS = new Set(["index", "delta", "finish_reason", "logprobs"]);
const DELTA_MEMBERS = new Set([
  ...["role", "content", "refusal", "reasoning", "reasoning_content"],
  ...["tool_calls", "audio", "annotations"],
]);
const CALL_MEMBERS = new Set(["index", "id", "type", "function", "custom", "extra_content"]);

/** Every chunk of a stream has the same id, time and model. */
interface Head {
  id: string;
  created: number;
  model: string;
}

export class ChunkReader {
  readonly #out: PartWriter;
  readonly #defaults: Head;
  readonly #choicesWithRole = new Set<number>();
  readonly #repeated: RepeatedEvent | undefined;
  #head: Head | undefined;
  /** True if the chunk that is being read needed a repair. */
  #isChanged = false;

  /** `shortcut`: an event that differs from an earlier one only in its text is not parsed. */
  constructor(out: PartWriter, defaults: Head, { shortcut = true } = {}) {
    this.#out = out;
    this.#defaults = defaults;
    this.#repeated = shortcut ? new RepeatedEvent() : undefined;
  }

  /** True once a chunk with choices has arrived. */
  get started(): boolean {
    return this.#head !== undefined;
  }

  /** Reads a chunk, which it repairs in place. `json` is the text that the chunk was parsed from. */
  read(chunk: JsonMembers, json?: string): void {
    this.#isChanged = false;
    const reported = chunk["usage"];
    const usage = isObject(reported) && hasCounts(reported) ? reported : undefined;
    if (repairUsage(usage)) this.#isChanged = true;
    const list = chunk["choices"];
    const choices = Array.isArray(list) ? list.filter(isObject) : [];
    // Azure's annotation frames have no choices, and clients look at `choices[0]`.
    if (choices.length > 0) this.#readChoices(chunk, choices, reported != null, json);
    if (usage !== undefined) this.#readUsage(chunk, usage, choices.length === 0, json);
  }

  /** Reads a chunk without parsing it if it differs from an earlier one only in its text. Returns whether it did. */
  repeat(json: string): boolean {
    const event = this.#repeated?.read(json);
    if (event === undefined || this.#out.finishOf(event.choice) !== undefined) return false;
    this.#out.event(new OpenSource("openai", undefined, json), () => {
      if (event.members !== undefined) this.#out.raw("chunk", event.members);
      this.#out.text(event.text, event.choice);
    });
    return true;
  }

  /** Adds the finish reasons that are missing at the end, and an empty choice if the stream had none. */
  close(): void {
    const choices = [...this.#out.choices];
    if (choices.length === 0) this.read({ choices: [{ index: 0, delta: { content: "" } }] });
    for (const choice of choices.length === 0 ? [0] : choices) this.#out.finish("stop", choice);
  }

  #readUsage(chunk: JsonMembers, usage: JsonMembers, isAlone: boolean, json?: string): void {
    const counts = usage as unknown as Usage;
    // Zeros after real numbers are ignored.
    if (laterUsage(this.#out.usage, counts) === this.#out.usage) return;
    const addUsage = () => this.#out.tell(counts);
    // Usage is written at the end, so the event can be written unchanged only if it contains nothing else.
    if (!isAlone || !this.started) {
      this.#out.withoutSource(addUsage);
      return;
    }
    this.#identify(chunk);
    const source = new OpenSource("openai", chunk, this.#isChanged ? undefined : json);
    this.#out.event(source, addUsage);
  }

  #readChoices(chunk: JsonMembers, choices: JsonMembers[], hasUsage: boolean, json?: string): void {
    this.#identify(chunk);
    if (hasUsage) {
      delete chunk["usage"];
      this.#isChanged = true;
    }
    if (choices.length !== (chunk["choices"] as unknown[]).length)
      this.#set(chunk, "choices", choices);
    for (const [i, choice] of choices.entries()) this.#repairChoice(choice, i);
    const isFinished = (choice: JsonMembers) =>
      this.#out.finishOf(choice["index"] as number) !== undefined;
    // Some servers send further, empty events after the end.
    if (choices.every((choice) => isFinished(choice) && isEmptyChoice(choice))) return;
    const source = new OpenSource("openai", chunk);
    this.#out.event(source, () => {
      const unknown = unknownMembers(chunk, CHUNK_MEMBERS);
      if (unknown !== undefined) this.#out.raw("chunk", unknown);
      for (const choice of choices) this.#readChoice(choice, choice["index"] as number);
    });
    for (const { index, delta } of choices as { index: number; delta: JsonMembers }[])
      if ("role" in delta) source.opens.push(index);
    if (this.#isChanged || json === undefined) return;
    source.keep(json);
    if (source.opens.length === 0) this.#repeated?.learn(json, source.parts);
  }

  /** Gives the chunk the id, time and model of the first one. */
  #identify(chunk: JsonMembers): void {
    if (this.#head === undefined) {
      const { id, created, model } = chunk;
      const time = Number.isInteger(created) && (created as number) > 0 ? (created as number) : 0;
      this.#head = {
        id: isCompletionId(id) ? id : this.#defaults.id,
        created: time || this.#defaults.created,
        model: typeof model === "string" && model !== "" ? model : this.#defaults.model,
      };
      this.#out.start(this.#head);
    }
    const { id, created, model } = this.#head;
    this.#set(chunk, "id", id);
    this.#set(chunk, "created", created);
    this.#set(chunk, "model", model);
    this.#set(chunk, "object", "chat.completion.chunk");
  }

  #set(holder: JsonMembers, key: string, value: unknown): void {
    if (holder[key] === value) return;
    holder[key] = value;
    this.#isChanged = true;
  }

  /** Repairs all of a choice except its calls and finish reason, which are repaired as they are read. */
  #repairChoice(choice: JsonMembers, position: number): void {
    if (typeof choice["index"] !== "number") this.#set(choice, "index", position);
    if (!isObject(choice["delta"])) {
      const { message, ...rest } = choice;
      for (const key of Object.keys(choice)) delete choice[key];
      Object.assign(choice, rest, { delta: isObject(message) ? message : {} });
      this.#isChanged = true;
    }
    const index = choice["index"] as number;
    this.#out.begin(index);
    this.#repairRole(choice, index);
    const delta = choice["delta"] as JsonMembers;
    const repaired = [
      repairOwnText(choice, delta),
      repairText(delta),
      readFunctionCallDelta(delta),
      dropOthers(delta, "tool_calls"),
    ];
    if (repaired.includes(true)) this.#isChanged = true;
  }

  #repairRole(choice: JsonMembers, index: number): void {
    const delta = choice["delta"] as JsonMembers;
    if (this.#choicesWithRole.has(index)) {
      if (!("role" in delta)) return;
      delete delta["role"];
      this.#isChanged = true;
      return;
    }
    this.#choicesWithRole.add(index);
    if (delta["role"] === "assistant") return;
    const { role: _, ...members } = delta;
    choice["delta"] = { role: "assistant", ...members };
    this.#isChanged = true;
  }

  #readChoice(choice: JsonMembers, index: number): void {
    const out = this.#out;
    const delta = choice["delta"] as JsonMembers;
    const { reasoning_content: reasoning, content, refusal } = delta;
    if (isText(reasoning)) out.reasoning(reasoning, index);
    const logprobs = choice["logprobs"] ?? undefined;
    if (isText(content)) out.text(content, index, logprobs);
    if (isText(refusal)) out.refusal(refusal, index, isText(content) ? undefined : logprobs);
    if (logprobs !== undefined && !isText(content) && !isText(refusal))
      out.raw("choice", { logprobs }, index);
    this.#readAudio(delta, index);
    for (const call of (delta["tool_calls"] ?? []) as JsonMembers[]) this.#readCall(call, index);
    this.#readUnknown(choice, delta, index);
    this.#readFinish(choice, index);
  }

  #readAudio({ audio, annotations }: JsonMembers, choice: number): void {
    if (isObject(audio)) {
      const { transcript, ...members } = audio;
      this.#out.add({
        type: "audio",
        choice,
        transcript: isText(transcript) ? transcript : "",
        members,
      });
    }
    if (!Array.isArray(annotations)) return;
    for (const annotation of annotations)
      if (isObject(annotation)) this.#out.add({ type: "annotation", choice, annotation });
  }

  #readUnknown(choice: JsonMembers, delta: JsonMembers, index: number): void {
    const deltaMembers = unknownMembers(delta, DELTA_MEMBERS);
    if (deltaMembers !== undefined) this.#out.raw("delta", deltaMembers, index);
    const choiceMembers = unknownMembers(choice, CHOICE_MEMBERS);
    if (choiceMembers !== undefined) this.#out.raw("choice", choiceMembers, index);
  }

  #readFinish(choice: JsonMembers, index: number): void {
    const out = this.#out;
    const reason = finishReasonOf(choice["finish_reason"]);
    if (reason === undefined || out.finishOf(index) !== undefined) {
      if (choice["finish_reason"] !== null) this.#set(choice, "finish_reason", null);
      return;
    }
    out.finish(reason, index);
    this.#set(choice, "finish_reason", out.finishOf(index));
  }

  /** Reads one fragment of a call, and repairs it in place. */
  #readCall(call: JsonMembers, choice: number): void {
    const kind = isObject(call["custom"]) ? "custom" : "function";
    const fn = isObject(call[kind]) ? call[kind] : undefined;
    const id = isText(call["id"]) ? call["id"] : undefined;
    const index = typeof call["index"] === "number" ? call["index"] : undefined;
    const name = isText(fn?.["name"]) ? fn["name"] : undefined;
    const key = kind === "custom" ? "input" : "arguments";
    const args = this.#readArguments(fn, key);
    const tracker = this.#out.calls(choice);
    const countBefore = tracker.count;
    const tracked = tracker.add({
      index,
      id,
      name,
      args,
      custom: kind === "custom",
      extra: call["extra_content"] ?? undefined,
    });
    this.#set(call, "index", tracked.index === -1 ? tracked.order : tracked.index);
    const isNew = tracker.count > countBefore;
    if (isNew) this.#repairFirst(call, tracked.id);
    else this.#repairLater(call, fn);
    const unknown = unknownMembers(call, CALL_MEMBERS);
    if (unknown !== undefined) this.#out.raw("call", unknown, choice, tracked.order);
    if (!isNew && call["extra_content"] != null)
      this.#out.raw("call", { extra_content: call["extra_content"] }, choice, tracked.order);
  }

  #readArguments(fn: JsonMembers | undefined, key: string): string {
    const value = fn?.[key];
    if (value === undefined || typeof value === "string") return value ?? "";
    const text = value === null ? "" : stringifyExact(value);
    fn![key] = text;
    this.#isChanged = true;
    return text;
  }

  #repairFirst(call: JsonMembers, id: string): void {
    this.#set(call, "id", id);
    if (typeof call["type"] !== "string") this.#set(call, "type", "function");
  }

  /** Removes the id and name from later fragments of a call, since clients concatenate what they receive twice. */
  #repairLater(call: JsonMembers, fn: JsonMembers | undefined): void {
    if ("id" in call) {
      delete call["id"];
      this.#isChanged = true;
    }
    if (fn !== undefined && "name" in fn) {
      delete fn["name"];
      this.#isChanged = true;
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Returns the members whose names are not in `knownNames`; undefined if there are none. */
function unknownMembers(
  holder: JsonMembers,
  knownNames: ReadonlySet<string>,
): JsonMembers | undefined {
  let unknown: JsonMembers | undefined;
  for (const key in holder) {
    if (knownNames.has(key) || holder[key] == null) continue;
    unknown ??= {};
    unknown[key] = holder[key];
  }
  return unknown;
}

/** True if all fields of the delta are empty. The choice may repeat its finish reason. */
function isEmptyChoice(choice: JsonMembers): boolean {
  const delta = choice["delta"] as JsonMembers;
  return Object.keys(delta).every((key) => delta[key] === "" || delta[key] == null);
}
