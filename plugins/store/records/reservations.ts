/**
 * Reservations: the amount that a request may use is reserved before the request is sent, and replaced by the real amount
 * when it has ended. So any number of requests, in any number of processes, stay within a limit together. Times are
 * milliseconds since 1970.
 */

/** The count of a limit, under a name of its own. Amounts are tokens, US dollars or whatever its owner counts. */
export interface Count {
  /** For example `key:ci:tokens`. */
  key: string;
  window: SlidingWindow | CalendarPeriod;
}

/** Amounts count for this long after they were used. */
export interface SlidingWindow {
  ms: number;
}

/** Amounts count until the period ends. A new count begins with the costs in the store's usage. */
export interface CalendarPeriod {
  start: number;
  end: number;
  /** The usage with which it begins: that of a client key, of a channel, or of a client key on a channel. */
  usageOf: { key?: string; channel?: string };
}

export interface ReservationRequest extends Count {
  max: number;
  /** 0 only checks that something is left, and reserves nothing. */
  amount: number;
  /**
   * True if the amount is a guess. If it exceeds `max` as a whole, and so would never fit, the request is allowed as long as
   * something is left and no other request holds a reservation; it reserves all that is left.
   */
  isGuess?: boolean;
}

export interface ReservationState {
  key: string;
  max: number;
  /** The amount that ended requests have used. */
  used: number;
  /** The amount that is reserved for requests in progress, including this one if it is allowed. */
  reserved: number;
  /** The time in milliseconds until the window is empty or the period ends. */
  resetMs: number;
}

export interface Reserved {
  allowed: boolean;
  /** One state for each request, in their order; after a refusal, only those up to the refused request. */
  states: ReservationState[];
  /** The first limit that has no room. */
  refused?: ReservationState & {
    /** The time in milliseconds after which the amount may fit. */
    retryAfterMs: number;
    /** True if the amount would not fit even without the reservations of other requests. */
    isUsedUp: boolean;
  };
}

/** An amount that was used and is to be added to a count. */
export interface Charge extends Count {
  amount: number;
}
