/** Reads the chunks of one stream in OpenAI's form, and repairs where servers of that format go wrong. */
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

/** One id, time and model throughout. */
interface Head {
  id: string;
  created: number;
  model: string;
}

export class ChunkReader {
  readonly #out: PartWriter;
  readonly #defaults: Head;
  readonly #roles = new Set<number>();
  readonly #repeated: RepeatedEvent | undefined;
  #head: Head | undefined;
  /** Something of the chunk that is being read was changed. */
  #changed = false;

  /** `shortcut`: events that repeat are not parsed. */
  constructor(out: PartWriter, defaults: Head, { shortcut = true } = {}) {
    this.#out = out;
    this.#defaults = defaults;
    this.#repeated = shortcut ? new RepeatedEvent() : undefined;
  }

  /** A chunk with choices has come. */
  get started(): boolean {
    return this.#head !== undefined;
  }

  /** `json`: the text that the chunk was parsed from. The chunk is repaired in place. */
  read(chunk: JsonMembers, json?: string): void {
    this.#changed = false;
    const counts = chunk["usage"];
    const usage = isObject(counts) && hasCounts(counts) ? counts : undefined;
    if (repairUsage(usage)) this.#changed = true;
    const list = chunk["choices"];
    const choices = Array.isArray(list) ? list.filter(isObject) : [];
    // Azure's annotation frames have no choices, and clients look at `choices[0]`.
    if (choices.length > 0) this.#readChoices(chunk, choices, counts != null, json);
    if (usage !== undefined) this.#readUsage(chunk, usage, choices.length === 0, json);
  }

  /** Reads a chunk without parsing it, where it is like one before but for its text. */
  repeat(json: string): boolean {
    const said = this.#repeated?.read(json);
    if (said === undefined || this.#out.finishOf(said.choice) !== undefined) return false;
    this.#out.event(new OpenSource("openai", undefined, json), () => {
      if (said.members !== undefined) this.#out.raw("chunk", said.members);
      this.#out.text(said.text, said.choice);
    });
    return true;
  }

  /** What is missing at the end: finish reasons, and where no choice came, an empty one. */
  close(): void {
    const choices = [...this.#out.choices];
    if (choices.length === 0) this.read({ choices: [{ index: 0, delta: { content: "" } }] });
    for (const choice of choices.length === 0 ? [0] : choices) this.#out.finish("stop", choice);
  }

  #readUsage(chunk: JsonMembers, usage: JsonMembers, alone: boolean, json?: string): void {
    const counts = usage as unknown as Usage;
    // Zeros behind real numbers are no news.
    if (laterUsage(this.#out.usage, counts) === this.#out.usage) return;
    const addUsage = () => this.#out.tell(counts);
    // It is written at the end, and unchanged only where the chunk contains nothing else.
    if (!alone || !this.started) {
      this.#out.withoutSource(addUsage);
      return;
    }
    this.#identify(chunk);
    const source = new OpenSource("openai", chunk, this.#changed ? undefined : json);
    this.#out.event(source, addUsage);
  }

  #readChoices(chunk: JsonMembers, choices: JsonMembers[], counted: boolean, json?: string): void {
    this.#identify(chunk);
    if (counted) {
      delete chunk["usage"];
      this.#changed = true;
    }
    if (choices.length !== (chunk["choices"] as unknown[]).length)
      this.#set(chunk, "choices", choices);
    for (const [i, choice] of choices.entries()) this.#repairChoice(choice, i);
    const isOver = (choice: JsonMembers) =>
      this.#out.finishOf(choice["index"] as number) !== undefined;
    // Some servers send further, empty events after the end.
    if (choices.every((choice) => isOver(choice) && saysNothing(choice))) return;
    const source = new OpenSource("openai", chunk);
    this.#out.event(source, () => {
      const more = others(chunk, CHUNK_MEMBERS);
      if (more !== undefined) this.#out.raw("chunk", more);
      for (const choice of choices) this.#readChoice(choice, choice["index"] as number);
    });
    for (const { index, delta } of choices as { index: number; delta: JsonMembers }[])
      if ("role" in delta) source.opens.push(index);
    if (this.#changed || json === undefined) return;
    source.keep(json);
    if (source.opens.length === 0) this.#repeated?.learn(json, source.parts);
  }

  /** Those of the first chunk hold for all. */
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
    this.#changed = true;
  }

  /** Everything but what is read together with the calls and the end. */
  #repairChoice(choice: JsonMembers, position: number): void {
    if (typeof choice["index"] !== "number") this.#set(choice, "index", position);
    if (!isObject(choice["delta"])) {
      const { message, ...rest } = choice;
      for (const key of Object.keys(choice)) delete choice[key];
      Object.assign(choice, rest, { delta: isObject(message) ? message : {} });
      this.#changed = true;
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
    if (repaired.includes(true)) this.#changed = true;
  }

  #repairRole(choice: JsonMembers, index: number): void {
    const delta = choice["delta"] as JsonMembers;
    if (this.#roles.has(index)) {
      if (!("role" in delta)) return;
      delete delta["role"];
      this.#changed = true;
      return;
    }
    this.#roles.add(index);
    if (delta["role"] === "assistant") return;
    const { role: _, ...said } = delta;
    choice["delta"] = { role: "assistant", ...said };
    this.#changed = true;
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
    this.#readOthers(choice, delta, index);
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

  #readOthers(choice: JsonMembers, delta: JsonMembers, index: number): void {
    const ofDelta = others(delta, DELTA_MEMBERS);
    if (ofDelta !== undefined) this.#out.raw("delta", ofDelta, index);
    const ofChoice = others(choice, CHOICE_MEMBERS);
    if (ofChoice !== undefined) this.#out.raw("choice", ofChoice, index);
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

  /** Reads one fragment of a call, and repairs it to what its reader would write. */
  #readCall(call: JsonMembers, choice: number): void {
    const kind = isObject(call["custom"]) ? "custom" : "function";
    const fn = isObject(call[kind]) ? call[kind] : undefined;
    const id = isText(call["id"]) ? call["id"] : undefined;
    const index = typeof call["index"] === "number" ? call["index"] : undefined;
    const name = isText(fn?.["name"]) ? fn["name"] : undefined;
    const key = kind === "custom" ? "input" : "arguments";
    const args = this.#argumentsOf(fn, key);
    const tracker = this.#out.calls(choice);
    const before = tracker.count;
    const tracked = tracker.add({
      index,
      id,
      name,
      args,
      custom: kind === "custom",
      extra: call["extra_content"] ?? undefined,
    });
    this.#set(call, "index", tracked.index === -1 ? tracked.order : tracked.index);
    const isNew = tracker.count > before;
    if (isNew) this.#repairFirst(call, tracked.id);
    else this.#repairLater(call, fn);
    const more = others(call, CALL_MEMBERS);
    if (more !== undefined) this.#out.raw("call", more, choice, tracked.order);
    if (!isNew && call["extra_content"] != null)
      this.#out.raw("call", { extra_content: call["extra_content"] }, choice, tracked.order);
  }

  #argumentsOf(fn: JsonMembers | undefined, key: string): string {
    const value = fn?.[key];
    if (value === undefined || typeof value === "string") return value ?? "";
    const text = value === null ? "" : stringifyExact(value);
    fn![key] = text;
    this.#changed = true;
    return text;
  }

  #repairFirst(call: JsonMembers, id: string): void {
    this.#set(call, "id", id);
    if (typeof call["type"] !== "string") this.#set(call, "type", "function");
  }

  /** Only the first fragment of a call has its id and name: clients join what they receive twice. */
  #repairLater(call: JsonMembers, fn: JsonMembers | undefined): void {
    if ("id" in call) {
      delete call["id"];
      this.#changed = true;
    }
    if (fn !== undefined && "name" in fn) {
      delete fn["name"];
      this.#changed = true;
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Members beside the known ones; undefined where there are none. */
function others(holder: JsonMembers, known: ReadonlySet<string>): JsonMembers | undefined {
  let more: JsonMembers | undefined;
  for (const key in holder) {
    if (known.has(key) || holder[key] == null) continue;
    more ??= {};
    more[key] = holder[key];
  }
  return more;
}

/** Nothing but empty fields, and maybe an end once more. */
function saysNothing(choice: JsonMembers): boolean {
  const delta = choice["delta"] as JsonMembers;
  return Object.keys(delta).every((key) => delta[key] === "" || delta[key] == null);
}
