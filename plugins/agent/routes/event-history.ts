/** Stores the recent events of this process, so that a client that reconnects can catch up. */
import { randomBytes } from "node:crypto";

export interface NumberedEvent {
  /** `<process>-<number>`: numbers count up by one within a process. */
  id: string;
  name: string;
  /** The event as JSON. */
  data: string;
}

/** The events that a client missed since the one that it names. */
export interface MissedEvents {
  events: readonly NumberedEvent[];
  /** The number of lost events; null if it is unknown, because another process numbered them. */
  lost: number | null;
}

interface Limits {
  count: number;
  /** The total length of the JSON texts, in characters. */
  chars: number;
}

export function createEventHistory(limits: Limits) {
  // The numbers restart with each process, so ids contain the process to differ from those of the previous one.
  const processId = randomBytes(6).toString("hex");
  const events: NumberedEvent[] = [];
  let chars = 0;
  let lastNumber = 0;

  function add(name: string, event: object): NumberedEvent {
    lastNumber += 1;
    const numbered = { id: `${processId}-${lastNumber}`, name, data: JSON.stringify(event) };
    events.push(numbered);
    chars += numbered.data.length;
    while (events.length > limits.count || (chars > limits.chars && events.length > 1))
      chars -= events.shift()?.data.length ?? 0;
    return numbered;
  }

  function since(lastEventId: string): MissedEvents {
    const [process, number] = lastEventId.split("-");
    const last = Number(number);
    const isOurs = process === processId && Number.isInteger(last) && last <= lastNumber;
    if (!isOurs) return { events: [...events], lost: null };
    const oldest = lastNumber - events.length + 1;
    return {
      events: events.slice(Math.max(0, last + 1 - oldest)),
      lost: Math.max(0, oldest - last - 1),
    };
  }

  return {
    add,
    since,
    /** Drops all events. The numbers continue, so that clients learn how many they missed. */
    clear(): void {
      events.length = 0;
      chars = 0;
    },
  };
}
