/** Queues of `notify` events, for which no caller waits. Each event name has a queue, which is handled in order. */
import type { BusEvent, HandlerRun, Logger } from "../contract/index.ts";
import { NO_CHANGES } from "./event-series.ts";
import { callHandler, type Entry } from "./handler-call.ts";

interface WaitingEvent {
  event: BusEvent;
  entries: readonly Entry[];
  trail: ((run: HandlerRun) => void) | undefined;
}

interface Queue {
  pending: WaitingEvent[];
  dropped: number;
  work?: Promise<void> | undefined;
}

/** Beyond this many waiting events of one name, the oldest is dropped, and the log says so. */
const MAX_WAITING = 1000;

export class NotifyQueues {
  readonly #log: Logger;
  readonly #queues = new Map<string, Queue>();

  constructor(log: Logger) {
    this.#log = log;
  }

  add(item: WaitingEvent): void {
    const { name } = item.event;
    const queue = this.#queues.get(name) ?? { pending: [], dropped: 0 };
    this.#queues.set(name, queue);
    if (queue.pending.length >= MAX_WAITING) this.#drop(name, queue);
    queue.pending.push(item);
    queue.work ??= this.#handleAll(queue);
  }

  /** Resolves when every waiting event has been handled. */
  async whenEmpty(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(({ work }) => work));
  }

  #drop(name: string, queue: Queue): void {
    queue.pending.shift();
    if (queue.dropped % MAX_WAITING === 0)
      this.#log.warn(
        { event: name, dropped: queue.dropped + 1 },
        "the handlers of an event are too slow, so events are dropped",
      );
    queue.dropped++;
  }

  async #handleAll(queue: Queue): Promise<void> {
    for (let next = queue.pending.shift(); next; next = queue.pending.shift()) {
      const { event, entries, trail } = next;
      for (const entry of entries) {
        const { outcome } = await callHandler(entry, event, this.#log);
        trail?.({ event: event.name, outcome, changes: NO_CHANGES });
      }
    }
    queue.work = undefined;
  }
}
