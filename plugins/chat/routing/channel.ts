/** What is known of one channel while the gateway runs: its keys, its failures and cooldowns, its places. */
import type { ChannelConfig } from "../schema.ts";

const FAILURES_TO_COOL_DOWN = 3;
const FIRST_COOLDOWN_MS = 5_000;
const LONGEST_COOLDOWN_MS = 300_000;
const KEY_COOLDOWN_MS = 30_000;

interface Key {
  value: string | undefined;
  cooldownUntil: number;
  cooldownMs: number;
}

/** A place within `maxConcurrent`. Give it back exactly once. */
export type Release = () => void;

export interface ChannelState {
  state: "ok" | "failing" | "resting" | "disabled";
  failures: number;
  /** ISO time, while it cools down. */
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
  #cooldownMs = 0;
  #cooldownUntil = 0;
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
    this.#keys = (keys.length === 0 ? [undefined] : keys).map((value) => ({ value, cooldownUntil: 0, cooldownMs: 0 }));
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

  /** When it may be tried again: 0 where it may now. A channel cools down as a whole, or because all its keys do. */
  cooldownUntil(): number {
    const now = this.#now();
    if (this.#cooldownUntil > now) return this.#cooldownUntil;
    // The cooldown is over, but only one request at a time may find out.
    if (this.#cooldownUntil > 0 && this.#probing) return now + 1;
    let earliest = Number.POSITIVE_INFINITY;
    for (const key of this.#keys) {
      if (key.cooldownUntil <= now) return 0;
      if (key.cooldownUntil < earliest) earliest = key.cooldownUntil;
    }
    return earliest;
  }

  /** The next key in turn that does not cool down; of those that do, the one whose cooldown ends first. Its index names it to `keyRefused`. */
  takeKey(): { index: number; value: string | undefined } {
    const now = this.#now();
    const count = this.#keys.length;
    let best = this.#nextKey % count;
    for (let i = 0; i < count; i++) {
      const index = (this.#nextKey + i) % count;
      const key = this.#keys[index]!;
      if (key.cooldownUntil <= now) {
        best = index;
        break;
      }
      if (key.cooldownUntil < this.#keys[best]!.cooldownUntil) best = index;
    }
    this.#nextKey = (best + 1) % count;
    return { index: best, value: this.#keys[best]!.value };
  }

  /** Another key than the refused or limited ones is ready. */
  hasFreshKey(): boolean {
    const now = this.#now();
    return this.#keys.some((key) => key.cooldownUntil <= now);
  }

  /** The upstream refused this key (401, 403), or limited it: it cools down, for `ms` or a doubling time. */
  keyRefused(index: number, ms?: number): void {
    const key = this.#keys[index];
    if (key === undefined) return;
    key.cooldownMs = ms ?? Math.min(LONGEST_COOLDOWN_MS, key.cooldownMs === 0 ? KEY_COOLDOWN_MS : key.cooldownMs * 2);
    key.cooldownUntil = this.#now() + key.cooldownMs;
  }

  get keyCount(): number {
    return this.#keys.length;
  }

  /** An attempt begins: after a cooldown, it is the probe that may end it. */
  begin(): void {
    this.#requests++;
    if (this.#cooldownUntil > 0) this.#probing = true;
  }

  succeeded(keyIndex: number, firstByteMs: number): void {
    this.#failures = 0;
    this.#cooldownMs = 0;
    this.#cooldownUntil = 0;
    this.#probing = false;
    const key = this.#keys[keyIndex];
    if (key !== undefined && key.cooldownUntil !== 0) {
      key.cooldownUntil = 0;
      key.cooldownMs = 0;
    }
    this.#latency = this.#latency === undefined ? firstByteMs : this.#latency * 0.8 + firstByteMs * 0.2;
  }

  /** The channel did not do its work: three times in a row and it cools down, twice as long each time. */
  failed(message: string): void {
    this.noted(message);
    this.#failures++;
    const wasProbe = this.#probing;
    this.#probing = false;
    if (this.#failures < FAILURES_TO_COOL_DOWN && !wasProbe) return;
    this.#cooldownMs = this.#cooldownMs === 0 ? FIRST_COOLDOWN_MS : Math.min(LONGEST_COOLDOWN_MS, this.#cooldownMs * 2);
    this.#cooldownUntil = this.#now() + this.#cooldownMs;
  }

  /** An error that says nothing about the channel's health (a refused key, an unknown model), or a client that disconnected. */
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
    const restingKeys = this.#keys.filter((key) => key.cooldownUntil > now).length;
    const until =
      this.#cooldownUntil > now
        ? this.#cooldownUntil
        : restingKeys === this.#keys.length
          ? Math.min(...this.#keys.map((key) => key.cooldownUntil))
          : 0;
    return {
      state: !this.enabled ? "disabled" : until > 0 ? "resting" : this.#failures > 0 ? "failing" : "ok",
      failures: this.#failures,
      restingUntil: until > 0 ? new Date(until).toISOString() : undefined,
      inFlight: this.inFlight,
      queued: this.#waiting.length,
      keys: this.#keys.filter((key) => key.value !== undefined).length,
      restingKeys,
      requests: this.#requests,
      errors: this.#errors,
      lastError: this.#lastError?.message,
      lastErrorAt: this.#lastError === undefined ? undefined : new Date(this.#lastError.at).toISOString(),
      latencyMs: this.#latency === undefined ? undefined : Math.round(this.#latency * 10) / 10,
    };
  }
}
