/**
 * The parts of a stream in the order in which they may be written. A call whose name may still grow is an incomplete part: its
 * event waits for it, and later events that concern calls wait behind that one. All other events go out at once.
 */
import type { StreamPart } from "../types/parts.ts";

/** The parts of one event, or a single part that belongs to no event. */
interface ReadEvent {
  parts: StreamPart[];
  incompleteCount: number;
  /** True if it has content, such as text, whose order must be kept. */
  hasContent: boolean;
}

export class PartQueue {
  #ready: StreamPart[] = [];
  #waiting: ReadEvent[] = [];
  /** The number of waiting events with content. */
  #waitingContents = 0;
  readonly #incomplete = new Map<StreamPart, ReadEvent>();
  #isReading = false;
  /** The position in `#ready` at which the parts of the event that is being read begin. */
  #eventAt = 0;
  /** The event that is being read, once it has an incomplete part. */
  #event: ReadEvent | undefined;

  /** The number of events that wait for an incomplete part, their own or an earlier one. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Runs `read`. The parts that it pushes belong to one event. */
  event(read: () => void): void {
    this.#eventAt = this.#ready.length;
    this.#isReading = true;
    try {
      read();
    } finally {
      this.#isReading = false;
      this.#place();
    }
  }

  push(part: StreamPart): void {
    if (!this.#isReading) this.#eventAt = this.#ready.length;
    this.#ready.push(part);
    if (!this.#isReading) this.#place();
  }

  /** Adds a part that may still change until `complete` is called with it. */
  pushIncomplete(part: StreamPart): void {
    this.#event ??= { parts: [], incompleteCount: 0, hasContent: false };
    this.#event.incompleteCount++;
    this.#incomplete.set(part, this.#event);
    this.push(part);
  }

  complete(part: StreamPart): void {
    const event = this.#incomplete.get(part);
    if (event === undefined) return;
    this.#incomplete.delete(part);
    event.incompleteCount--;
  }

  /** Returns all parts since the last call that may go out. */
  take(): StreamPart[] {
    this.#release();
    if (this.#ready.length === 0) return NONE;
    const parts = this.#ready;
    this.#ready = [];
    this.#eventAt = 0;
    return parts;
  }

  /** Decides whether the event that was just read has to wait. */
  #place(): void {
    const event = this.#event;
    if (event === undefined && this.#waiting.length === 0) return;
    this.#event = undefined;
    const parts = this.#ready.splice(this.#eventAt);
    this.#release();
    const isIncomplete = event !== undefined && event.incompleteCount > 0;
    if (isIncomplete || !this.#mayOvertake(parts))
      this.#wait(event ?? { parts, incompleteCount: 0, hasContent: false }, parts);
    else this.#add(parts);
  }

  #mayOvertake(parts: readonly StreamPart[]): boolean {
    if (this.#waiting.length === 0) return true;
    return !parts.some(isOfCall) && (this.#waitingContents === 0 || !parts.some(isContent));
  }

  #wait(event: ReadEvent, parts: StreamPart[]): void {
    event.parts = parts;
    event.hasContent = parts.some(isContent);
    if (event.hasContent) this.#waitingContents++;
    this.#waiting.push(event);
  }

  /** Moves the events at the front that no longer wait to the ready parts. */
  #release(): void {
    if (this.#waiting.length === 0) return;
    const end = this.#waiting.findIndex(({ incompleteCount }) => incompleteCount > 0);
    const released = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    for (const { parts, hasContent } of released) {
      if (hasContent) this.#waitingContents--;
      this.#add(parts);
    }
  }

  #add(parts: readonly StreamPart[]): void {
    for (const part of parts) if (!isNoCall(part)) this.#ready.push(part);
  }
}

const NONE: StreamPart[] = [];

function isOfCall(part: StreamPart): boolean {
  if (part.type === "raw") return part.at === "call";
  return part.type === "tool-call" || part.type === "tool-arguments";
}

/** True for the parts of a choice, other than calls, whose order must be kept. */
function isContent(part: StreamPart): boolean {
  if (!("choice" in part) || isOfCall(part)) return false;
  return part.type !== "raw" || part.at !== "chunk";
}

/** True for a mention that never received a name, so that it was no call. */
function isNoCall(part: StreamPart): boolean {
  return part.type === "tool-call" && part.index === -1;
}
