/** Collects the parts of one stream for a decoder, and ensures their order: the start comes first, each choice ends once. */
import { laterUsage } from "../response/later-usage.ts";
import { PartQueue } from "./part-queue.ts";
import type { OpenSource } from "./source.ts";
import { type TrackedCall, ToolCallTracker, type TrackerOptions } from "./tool-calls.ts";
import type {
  RawPart,
  StreamedCallPart,
  StreamPart,
  TextPart,
  ToolArgumentsPart,
} from "../types/parts.ts";
import type { Usage } from "../types/format.ts";

/** The values of fields that the upstream leaves out. */
export interface PartDefaults {
  id: string;
  created: number;
  model: string;
}

interface ChoiceState {
  calls: ToolCallTracker;
  finish: string | undefined;
}

/** No real stream has more events that wait for a call's name. Beyond this number, names count as complete. */
const MAX_WAITING = 64;

/** The first event with a fragment of a call, whose name may still grow. */
interface Mention {
  /** Undefined if the event was written without the call. */
  part: StreamedCallPart | undefined;
  source: OpenSource | undefined;
}

export class PartWriter {
  /** The latest usage that the upstream has reported. */
  usage: Usage | undefined;
  readonly #defaults: PartDefaults;
  readonly #options: TrackerOptions;
  readonly #choices = new Map<number, ChoiceState>();
  readonly #queue = new PartQueue();
  /** The first mention of each call that is not announced yet. */
  readonly #mentions = new Map<TrackedCall, Mention>();
  /** The event that is being read. */
  #source: OpenSource | undefined;
  #started = false;

  constructor(defaults: PartDefaults, options: TrackerOptions = {}) {
    this.#defaults = defaults;
    this.#options = options;
  }

  get started(): boolean {
    return this.#started;
  }

  /** The choices that have begun. */
  get choices(): Iterable<number> {
    return this.#choices.keys();
  }

  /** True if at least one choice has begun, and all that have begun are finished. */
  get finished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { finish } of this.#choices.values()) if (finish === undefined) return false;
    return true;
  }

  finishOf(choice: number): string | undefined {
    return this.#choices.get(choice)?.finish;
  }

  /** Adds the start, with the defaults for fields that the upstream leaves out. The start belongs to no event. */
  start({ id, created, model }: Partial<PartDefaults> = {}): void {
    if (this.#started) return;
    this.#started = true;
    this.#queue.push({
      type: "start",
      id: id ?? this.#defaults.id,
      created: created ?? this.#defaults.created,
      model: model || this.#defaults.model,
    });
  }

  /** Reads one event. Its parts refer to it, so that it can be written unchanged. */
  event(source: OpenSource, read: () => void): void {
    this.#source = source;
    this.#queue.event(() => {
      read();
      if (source.parts.length === 0 && !source.split) this.raw("delta", {}, 0);
    });
    this.#source = undefined;
  }

  /** Runs `add`, whose parts belong to no event. */
  withoutSource(add: () => void): void {
    const source = this.#source;
    this.#source = undefined;
    add();
    this.#source = source;
  }

  text(text: string, choice = 0, logprobs?: unknown): void {
    this.#addText("text", text, choice, logprobs);
  }
  reasoning(text: string, choice = 0): void {
    this.#addText("reasoning", text, choice);
  }
  refusal(text: string, choice = 0, logprobs?: unknown): void {
    this.#addText("refusal", text, choice, logprobs);
  }

  /** Adds any other part of a choice, or a comment. */
  add(part: Exclude<StreamPart, { type: "finish" | "start" | "usage" }>): void {
    if ("choice" in part) this.begin(part.choice);
    this.#push(part);
  }

  /** Adds a part that another decoder has made. */
  adopt(part: StreamPart): void {
    if (part.type === "start") this.start(part);
    else if (part.type === "finish") this.finish(part.reason, part.choice);
    else if (part.type === "usage") this.tell(part.usage);
    else if (part.type === "tool-call") this.#adoptCall(part);
    else if (part.type === "tool-arguments") this.#adoptArguments(part);
    else this.add(part);
  }

  readonly #adoptedCalls = new Map<string, TrackedCall>();

  #adoptCall({ choice, index, id, name, custom, extra }: StreamedCallPart): void {
    this.#adoptedCalls.set(
      `${choice}.${index}`,
      this.calls(choice).start(id, name, { custom, extra }),
    );
  }

  #adoptArguments({ choice, index, text }: ToolArgumentsPart): void {
    const call = this.#adoptedCalls.get(`${choice}.${index}`);
    if (call !== undefined) this.calls(choice).append(call, text);
  }

  raw(at: RawPart["at"], members: Record<string, unknown>, choice = 0, index?: number): void {
    const part: RawPart = { type: "raw", at, choice, members };
    if (index !== undefined) part.index = index;
    this.#push(part);
  }

  /** Adds a whole event of another format than OpenAI's, so that features that mask secrets see all of it. */
  rawEvent(format: string, members: Record<string, unknown>, endsText: boolean): void {
    const part: RawPart = { type: "raw", at: "chunk", choice: 0, members, format };
    this.#push(endsText ? { ...part, endsText } : part);
  }

  comment(text: string): void {
    this.#push({ type: "comment", text });
  }

  /** Returns the tracker of the calls of a choice. */
  calls(choice = 0): ToolCallTracker {
    return this.#stateOf(choice).calls;
  }

  /** Records that a choice has begun, even if no parts of it follow. */
  begin(choice: number): void {
    this.#stateOf(choice);
  }

  /** Ends a choice. The reason `stop` becomes `tool_calls` if the choice has calls. A second end is ignored. */
  finish(reason: string, choice = 0): void {
    const state = this.#stateOf(choice);
    if (state.finish !== undefined) return;
    const isCut = reason === "length" || reason === "content_filter";
    // The text that completes the calls belongs to no event.
    this.withoutSource(() => state.calls.finish(isCut));
    state.finish = reason === "stop" && state.calls.any ? "tool_calls" : reason;
    this.#push({ type: "finish", choice, reason: state.finish });
  }

  /** Reports the usage so far. Zeros after real numbers are ignored. */
  tell(usage: Usage): void {
    const later = laterUsage(this.usage, usage);
    if (later === this.usage) return;
    this.usage = later;
    this.#push({ type: "usage", usage: later });
  }

  /** Returns the parts since the last `take`, without those that wait for the name of a call. */
  take(): StreamPart[] {
    if (this.#queue.waitingCount > MAX_WAITING)
      for (const { calls } of this.#choices.values()) calls.settle();
    return this.#queue.take();
  }

  #addText(type: TextPart["type"], text: string, choice: number, logprobs?: unknown): void {
    this.begin(choice);
    this.#push(logprobs == null ? { type, choice, text } : { type, choice, text, logprobs });
  }

  #push(part: StreamPart): void {
    this.#attach(part);
    this.#queue.push(part);
  }

  #attach(part: StreamPart): void {
    if (!this.#started && part.type !== "comment" && part.type !== "usage") this.start();
    const source = this.#source;
    if (source === undefined) return;
    part.source = source;
    source.parts.push(part);
  }

  #stateOf(choice: number): ChoiceState {
    let state = this.#choices.get(choice);
    if (state === undefined) {
      state = { calls: this.#trackerFor(choice), finish: undefined };
      this.#choices.set(choice, state);
    }
    return state;
  }

  #trackerFor(choice: number): ToolCallTracker {
    return new ToolCallTracker(
      {
        mention: (call) => this.#mention(call, choice),
        announce: (call, withArguments) => this.#announce(call, choice, withArguments),
        skip: (call) => this.#skip(call),
        renamed: (call) => markSplit(this.#mentions.get(call)?.source),
        delayed: () => markSplit(this.#source),
        args: (call, text, isOfEvent) => {
          if (!isOfEvent) markSplit(this.#source);
          this.#push({ type: "tool-arguments", choice, index: call.index, text });
        },
      },
      this.#options,
    );
  }

  /** Adds the part that begins a call at the place where the call is mentioned first. */
  #mention(call: TrackedCall, choice: number): void {
    const part = callPart(call, choice);
    this.#mentions.set(call, { part, source: this.#source });
    this.#attach(part);
    this.#queue.pushIncomplete(part);
  }

  #announce(call: TrackedCall, choice: number, withArguments: boolean): void {
    const mention = this.#mentions.get(call);
    this.#mentions.delete(call);
    if (mention?.part === undefined) {
      // This event contains only the rest of a call that began in an earlier one.
      if (mention !== undefined && mention.source !== this.#source) markSplit(this.#source);
      this.#push(callPart(call, choice, withArguments));
      return;
    }
    const { part, source } = mention;
    Object.assign(part, callPart(call, choice, withArguments));
    this.#queue.complete(part);
    // The event identifies the call by its order of mention, which differs from its index.
    if (call.index !== call.order) markSplit(source);
  }

  /** Leaves the part out; a later event may announce the call. */
  #skip(call: TrackedCall): void {
    const mention = this.#mentions.get(call);
    if (mention?.part === undefined) return;
    markSplit(mention.source);
    this.#queue.complete(mention.part);
    mention.part = undefined;
  }
}

/** `index` is -1 until the call is announced. */
function callPart(call: TrackedCall, choice: number, withArguments = false): StreamedCallPart {
  const { index, id, name, custom, extra } = call;
  return {
    type: "tool-call",
    choice,
    index,
    id,
    name,
    ...(withArguments && { withArguments }),
    ...(custom && { custom }),
    ...(extra != null && { extra }),
  };
}

/** Marks an event as one that cannot be written in place of its parts. */
function markSplit(source: OpenSource | undefined): void {
  if (source !== undefined) source.split = true;
}
