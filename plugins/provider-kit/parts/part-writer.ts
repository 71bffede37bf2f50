/** Collects the parts of one stream for a decoder, and keeps their order: a start first, each choice finished once. */
import { laterUsage } from "../response/later-usage.ts";
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

/** For fields that the upstream leaves out. */
export interface PartDefaults {
  id: string;
  created: number;
  model: string;
}

interface ChoiceState {
  calls: ToolCallTracker;
  finish: string | undefined;
}

/** More calls than any model makes at once. Beyond them, the names of the earliest ones count as complete. */
const MOST_RESERVED = 64;

/** A place for a call whose name may still grow. All that was read since its event waits for it. */
interface Reserved {
  call: TrackedCall;
  choice: number;
  at: number;
  /** Where the parts of its event begin. */
  eventAt: number;
  source: OpenSource | undefined;
}

export class PartWriter {
  /** The latest usage that the upstream has reported. */
  usage: Usage | undefined;
  readonly #defaults: PartDefaults;
  readonly #options: TrackerOptions;
  readonly #choices = new Map<number, ChoiceState>();
  /** The event that each call was first mentioned in. */
  readonly #sources = new Map<TrackedCall, OpenSource>();
  #queue: StreamPart[] = [];
  /** In the order of their places. */
  #reserved: Reserved[] = [];
  /** Events that got a part at a reserved place: `#orderParts` brings their parts into the order of the queue. */
  readonly #unordered = new Set<OpenSource>();
  #eventAt = 0;
  #source: OpenSource | undefined;
  #started = false;

  constructor(defaults: PartDefaults, options: TrackerOptions = {}) {
    this.#defaults = defaults;
    this.#options = options;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Choices that have begun. */
  get choices(): Iterable<number> {
    return this.#choices.keys();
  }

  /** Every choice that has begun is finished, and one has. */
  get finished(): boolean {
    if (this.#choices.size === 0) return false;
    for (const { finish } of this.#choices.values()) if (finish === undefined) return false;
    return true;
  }

  finishOf(choice: number): string | undefined {
    return this.#choices.get(choice)?.finish;
  }

  /** Adds the start, with the defaults for what the upstream leaves out. */
  start(told: Partial<PartDefaults> = {}): void {
    if (this.#started) return;
    this.#started = true;
    const { id, created, model } = this.#defaults;
    this.#queue.push({
      type: "start",
      id: told.id ?? id,
      created: told.created ?? created,
      model: told.model || model,
    });
    // It belongs to no event: what comes with it is written with or without it.
    this.#eventAt = this.#queue.length;
  }

  /** Reads one event. Its parts carry it, so that it can be written unchanged. */
  event(source: OpenSource, read: () => void): void {
    this.#source = source;
    this.#eventAt = this.#queue.length;
    read();
    const isEmpty =
      source.parts.length === 0 && !this.#reserved.some((place) => place.source === source);
    if (isEmpty && !source.split) this.raw("delta", {}, 0);
    this.#source = undefined;
    this.#eventAt = this.#queue.length;
  }

  /** What is added now belongs to no event. */
  withoutSource(add: () => void): void {
    const source = this.#source;
    this.#source = undefined;
    add();
    this.#source = source;
  }

  text(text: string, choice = 0, logprobs?: unknown): void {
    this.#say("text", text, choice, logprobs);
  }
  reasoning(text: string, choice = 0): void {
    this.#say("reasoning", text, choice);
  }
  refusal(text: string, choice = 0, logprobs?: unknown): void {
    this.#say("refusal", text, choice, logprobs);
  }

  /** Anything else of a choice. */
  add(part: Exclude<StreamPart, { type: "finish" | "start" | "usage" }>): void {
    if ("choice" in part) this.#settle(part.choice);
    this.#push(part);
  }

  /** A part that was made elsewhere. */
  adopt(part: StreamPart): void {
    if (part.type === "start") this.start(part);
    else if (part.type === "finish") this.finish(part.reason, part.choice);
    else if (part.type === "usage") this.tell(part.usage);
    else if (part.type === "tool-call") this.#adoptCall(part);
    else if (part.type === "tool-arguments") this.#adoptArguments(part);
    else this.add(part);
  }

  readonly #adopted = new Map<string, TrackedCall>();

  #adoptCall({ choice, index, id, name, custom, extra }: StreamedCallPart): void {
    this.#adopted.set(`${choice}.${index}`, this.calls(choice).start(id, name, { custom, extra }));
  }

  #adoptArguments({ choice, index, text }: ToolArgumentsPart): void {
    const call = this.#adopted.get(`${choice}.${index}`);
    if (call !== undefined) this.calls(choice).append(call, text);
  }

  raw(at: RawPart["at"], members: Record<string, unknown>, choice = 0, index?: number): void {
    const part: RawPart = { type: "raw", at, choice, members };
    if (index !== undefined) part.index = index;
    this.#push(part);
  }

  /** A whole event of another format than OpenAI's, so that anyone who hides secrets sees all of it. */
  rawEvent(format: string, members: Record<string, unknown>, endsText: boolean): void {
    const part: RawPart = { type: "raw", at: "chunk", choice: 0, members, format };
    this.#push(endsText ? { ...part, endsText } : part);
  }

  comment(text: string): void {
    this.#push({ type: "comment", text });
  }

  /** The calls of a choice. */
  calls(choice = 0): ToolCallTracker {
    return this.#stateOf(choice).calls;
  }

  /** A choice has begun, whatever comes of it. */
  begin(choice: number): void {
    this.#stateOf(choice);
  }

  /** Ends a choice, with `tool_calls` where it stops with calls. A second end is ignored. */
  finish(reason: string, choice = 0): void {
    const state = this.#stateOf(choice);
    if (state.finish !== undefined) return;
    const isCut = reason === "length" || reason === "content_filter";
    // The text that completes the calls belongs to no event.
    this.withoutSource(() => state.calls.finish(isCut));
    state.finish = reason === "stop" && state.calls.any ? "tool_calls" : reason;
    this.#push({ type: "finish", choice, reason: state.finish });
  }

  /** Usage so far. Zeros behind real numbers are no news. */
  tell(usage: Usage): void {
    const later = laterUsage(this.usage, usage);
    if (later === this.usage) return;
    this.usage = later;
    this.#push({ type: "usage", usage: later });
  }

  /** The parts since the last call, up to a call whose name may still grow. */
  take(): StreamPart[] {
    const end = this.#reserved[0]?.eventAt ?? this.#queue.length;
    if (end === 0) return NONE;
    this.#orderParts();
    const taken = this.#queue.slice(0, end);
    this.#queue = this.#queue.slice(end);
    this.#eventAt -= end;
    for (const place of this.#reserved) {
      place.at -= end;
      place.eventAt -= end;
    }
    return taken;
  }

  #say(type: TextPart["type"], text: string, choice: number, logprobs?: unknown): void {
    this.#settle(choice);
    this.#push(logprobs == null ? { type, choice, text } : { type, choice, text, logprobs });
  }

  /** Something else than arguments comes for the choice. */
  #settle(choice: number): void {
    this.#stateOf(choice).calls.settle();
  }

  #push(part: StreamPart): void {
    if (!this.#started && part.type !== "comment" && part.type !== "usage") this.start();
    const source = this.#source;
    if (source !== undefined) {
      part.source = source;
      source.parts.push(part);
    }
    this.#queue.push(part);
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
        reserve: (call) => this.#reserve(call, choice),
        announce: (call, withArguments) => this.#announce(call, choice, withArguments),
        skip: (call) => this.#skip(call),
        renamed: (call) => {
          const source = this.#sources.get(call);
          if (source !== undefined) source.split = true;
        },
        held: () => {
          if (this.#source !== undefined) this.#source.split = true;
        },
        args: (call, text, isLate) => {
          // The event contains only the end of the text.
          if (isLate && this.#source !== undefined) this.#source.split = true;
          this.#push({ type: "tool-arguments", choice, index: call.index, text });
        },
      },
      this.#options,
    );
  }

  #reserve(call: TrackedCall, choice: number): void {
    if (!this.#started) this.start();
    const [earliest] = this.#reserved;
    if (earliest !== undefined && this.#reserved.length === MOST_RESERVED)
      this.#settle(earliest.choice);
    const source = this.#source;
    if (source !== undefined) this.#sources.set(call, source);
    const at = this.#queue.length;
    const eventAt = source === undefined ? at : this.#eventAt;
    this.#reserved.push({ call, choice, at, eventAt, source });
  }

  #announce(call: TrackedCall, choice: number, withArguments: boolean): void {
    const part: StreamPart = {
      type: "tool-call",
      choice,
      index: call.index,
      id: call.id,
      name: call.name,
      ...(withArguments && { withArguments }),
      ...(call.custom && { custom: true }),
      ...(call.extra != null && { extra: call.extra }),
    };
    const source = this.#sources.get(call);
    const position = this.#placeOf(call);
    if (position === -1) {
      // This event contains only the rest of what an earlier one began.
      if (this.#source !== undefined && source !== undefined && source !== this.#source)
        this.#source.split = true;
      this.#push(part);
      return;
    }
    this.#fill(position, part);
    // The event names the call by the place that it had at first.
    if (source !== undefined && call.index !== call.order) source.split = true;
  }

  #placeOf(call: TrackedCall): number {
    return this.#reserved.findIndex((place) => place.call === call);
  }

  /** Puts a part into the place that was reserved for it. */
  #fill(position: number, part: StreamPart): void {
    const [{ at, source }] = this.#reserved.splice(position, 1) as [Reserved];
    this.#queue.splice(at, 0, part);
    const isOtherEvent = (other: OpenSource | undefined) =>
      source === undefined || other !== source;
    if (isOtherEvent(this.#source)) this.#eventAt++;
    for (const later of this.#reserved.slice(position)) {
      later.at++;
      if (isOtherEvent(later.source)) later.eventAt++;
    }
    if (source === undefined) return;
    part.source = source;
    source.parts.push(part);
    this.#unordered.add(source);
  }

  /** In one pass for all events: an event may contain thousands of calls. All parts of such an event are still queued. */
  #orderParts(): void {
    if (this.#unordered.size === 0) return;
    for (const source of this.#unordered) source.parts = [];
    for (const part of this.#queue) {
      const source = part.source as OpenSource | undefined;
      if (source !== undefined && this.#unordered.has(source)) source.parts.push(part);
    }
    this.#unordered.clear();
  }

  #skip(call: TrackedCall): void {
    const position = this.#placeOf(call);
    if (position === -1) return;
    const source = this.#reserved.splice(position, 1)[0]?.source;
    if (source !== undefined) source.split = true;
  }
}

const NONE: StreamPart[] = [];
