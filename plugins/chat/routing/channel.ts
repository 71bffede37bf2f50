/** What is known of one channel while the gateway runs: its keys, its failures and rests, its places. */
import type { ChannelConfig } from "../schema.ts";

const FAILURES_TO_REST = 3;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 300_000;
const KEY_REST_MS = 30_000;

interface Key {
  value: string | undefined;
  restUntil: number;
  restMs: number;
}

/** A place within `maxConcurrent`. Give it back exactly once. */
export type Release = () => void;

export interface ChannelState {
  state: "ok" | "failing" | "resting" | "disabled";
  failures: number;
  /** ISO time, while it rests. */
  restingUntil?: string;
  inFlight: number;
  queued: number;
  keys: number;
  restingKeys: number;
  requests: number;
  errors: number;
  lastError?: string;
  lastErrorAt?: string;
  /** Moving average to the first byte, milliseconds. */
  latencyMs?: number;
}

/** Times are milliseconds of the clock that was handed in. */
export class Channel {
  readonly name: string;
  readonly config: ChannelConfig;
  /** Its upstream has refused `stream_options.include_usage`. */
  noStreamUsage = false;
  readonly builtin: boolean;
  inFlight = 0;
  #failures = 0;
  #restMs = 0;
  #restUntil = 0;
  #probing = false;
  #keys: Key[];
  #nextKey = 0;
  #waiting: ((granted: boolean) => void)[] = [];
  #now: () => number;
  #requests = 0;
  #errors = 0;
  #lastError: { message: string; at: number } | undefined;
  #latency: number | undefined;

  constructor(name: string, config: ChannelConfig, options: { now?: () => number; builtin?: boolean } = {}) {
    this.name = name;
    this.config = config;
    this.builtin = options.builtin ?? false;
    this.#now = options.now ?? Date.now;
    const keys = Array.isArray(config.apiKey) ? config.apiKey : [config.apiKey];
    this.#keys = (keys.length === 0 ? [undefined] : keys).map((value) => ({ value, restUntil: 0, restMs: 0 }));
  }

  get enabled(): boolean {
    return this.config.enabled !== false;
  }
  get priority(): number {
    return this.config.priority ?? 0;
  }
  get weight(): number {
    return this.config.weight ?? 1;
  }

  /** When it may be tried again: 0 where it may now. A channel rests as a whole, or because all its keys do. */
  restsUntil(): number {
    const now = this.#now();
    if (this.#restUntil > now) return this.#restUntil;
    // The rest is over, but only one request at a time may find out.
    if (this.#restUntil > 0 && this.#probing) return now + 1;
    let earliest = Number.POSITIVE_INFINITY;
    for (const key of this.#keys) {
      if (key.restUntil <= now) return 0;
      if (key.restUntil < earliest) earliest = key.restUntil;
    }
    return earliest;
  }

  /** The next key in turn that does not rest; of resting ones the one whose rest ends first. Its index names it to `keyRefused`. */
  takeKey(): { index: number; value: string | undefined } {
    const now = this.#now();
    const count = this.#keys.length;
    let best = this.#nextKey % count;
    for (let i = 0; i < count; i++) {
      const index = (this.#nextKey + i) % count;
      const key = this.#keys[index]!;
      if (key.restUntil <= now) {
        best = index;
        break;
      }
      if (key.restUntil < this.#keys[best]!.restUntil) best = index;
    }
    this.#nextKey = (best + 1) % count;
    return { index: best, value: this.#keys[best]!.value };
  }

  /** Another key than the refused or limited ones is ready. */
  hasFreshKey(): boolean {
    const now = this.#now();
    return this.#keys.some((key) => key.restUntil <= now);
  }

  /** The upstream refused this key (401, 403), or limited it: it rests, for `ms` or a doubling time. */
  keyRefused(index: number, ms?: number): void {
    const key = this.#keys[index];
    if (key === undefined) return;
    key.restMs = ms ?? Math.min(LONGEST_REST_MS, key.restMs === 0 ? KEY_REST_MS : key.restMs * 2);
    key.restUntil = this.#now() + key.restMs;
  }

  get keyCount(): number {
    return this.#keys.length;
  }

  /** An attempt begins: behind a rest, it is the probe that may end it. */
  begin(): void {
    this.#requests++;
    if (this.#restUntil > 0) this.#probing = true;
  }

  succeeded(keyIndex: number, firstByteMs: number): void {
    this.#failures = 0;
    this.#restMs = 0;
    this.#restUntil = 0;
    this.#probing = false;
    const key = this.#keys[keyIndex];
    if (key !== undefined && key.restUntil !== 0) {
      key.restUntil = 0;
      key.restMs = 0;
    }
    this.#latency = this.#latency === undefined ? firstByteMs : this.#latency * 0.8 + firstByteMs * 0.2;
  }

  /** The channel did not do its work: three times in a row and it rests, twice as long each time. */
  failed(message: string): void {
    this.noted(message);
    this.#failures++;
    const wasProbe = this.#probing;
    this.#probing = false;
    if (this.#failures < FAILURES_TO_REST && !wasProbe) return;
    this.#restMs = this.#restMs === 0 ? FIRST_REST_MS : Math.min(LONGEST_REST_MS, this.#restMs * 2);
    this.#restUntil = this.#now() + this.#restMs;
  }

  /** An error that says nothing about the channel's health (a refused key, an unknown model), or a client that left. */
  noted(message?: string): void {
    this.#probing = false;
    if (message === undefined) return;
    this.#errors++;
    this.#lastError = { message, at: this.#now() };
  }

  /** A place at once, a promise of one within `queueTimeoutMs`, resolving to undefined where none came free. */
  place(signal?: AbortSignal): Release | Promise<Release | undefined> {
    const max = this.config.maxConcurrent;
    if (max === undefined || this.inFlight < max) return this.#take();
    return new Promise((resolve) => {
      const waiter = (granted: boolean) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", leave);
        resolve(granted ? this.#take() : undefined);
      };
      const leave = () => {
        const at = this.#waiting.indexOf(waiter);
        if (at !== -1) this.#waiting.splice(at, 1);
        waiter(false);
      };
      const timer = setTimeout(leave, this.config.queueTimeoutMs ?? 2000);
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #take(): Release {
    this.inFlight++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.inFlight--;
      this.#waiting.shift()?.(true);
    };
  }

  /** For listings. */
  describe(): ChannelState {
    const now = this.#now();
    const restingKeys = this.#keys.filter((key) => key.restUntil > now).length;
    const until =
      this.#restUntil > now
        ? this.#restUntil
        : restingKeys === this.#keys.length
          ? Math.min(...this.#keys.map((key) => key.restUntil))
          : 0;
    return {
      state: !this.enabled ? "disabled" : until > 0 ? "resting" : this.#failures > 0 ? "failing" : "ok",
      failures: this.#failures,
      ...(until > 0 && { restingUntil: new Date(until).toISOString() }),
      inFlight: this.inFlight,
      queued: this.#waiting.length,
      keys: this.#keys.filter((key) => key.value !== undefined).length,
      restingKeys,
      requests: this.#requests,
      errors: this.#errors,
      ...(this.#lastError && {
        lastError: this.#lastError.message,
        lastErrorAt: new Date(this.#lastError.at).toISOString(),
      }),
      ...(this.#latency !== undefined && { latencyMs: Math.round(this.#latency * 10) / 10 }),
    };
  }
}
