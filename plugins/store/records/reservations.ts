/**
 * Reservations: what a request may use is set aside before it is sent, and replaced by what it did use when it has ended.
 * So any number of requests, in any number of processes, stay within a limit together. Times are milliseconds since 1970.
 */

/** What a limit counts, under a name of its own. Amounts are tokens, US dollars or whatever its owner counts. */
export interface Count {
  /** For example `key:ci:tokens`. */
  key: string;
  window: SlidingWindow | CalendarPeriod;
}

/** Amounts count for this long after they were used. */
export interface SlidingWindow {
  ms: number;
}

/** Amounts count until the period ends. A count that is new begins with the costs in the store's usage. */
export interface CalendarPeriod {
  start: number;
  end: number;
  /** Whose usage it begins with: that of a client key, of a channel, or of a channel's use by a key. */
  usageOf: { key?: string; channel?: string };
}

export interface ReservationRequest extends Count {
  max: number;
  /** 0 asks whether anything is left, and sets nothing aside. */
  amount: number;
  /**
   * The amount is a guess. Where it exceeds `max` as a whole, and so would never fit, the request is let in as long as
   * something is left and nobody else holds a reservation, and sets aside all that is left.
   */
  isGuess?: boolean;
}

export interface ReservationState {
  key: string;
  max: number;
  /** By requests that have ended. */
  used: number;
  /** For requests that are under way, this one included where it was let in. */
  reserved: number;
  /** Until the window is empty or the period ends. */
  resetMs: number;
}

export interface Reserved {
  allowed: boolean;
  /** One for each request, in their order. */
  states: ReservationState[];
  /** The first that left no room. */
  refused?: ReservationState & {
    /** How long until the amount may fit. */
    retryAfterMs: number;
    /** It does not fit, although no other request holds a reservation. */
    isUsedUp: boolean;
  };
}

/** What was used, to be added to a count. */
export interface Charge extends Count {
  amount: number;
}
