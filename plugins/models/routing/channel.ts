/** The state of one channel while the gateway runs: its keys, failures, cooldowns and places. */
import type { ChannelConfig } from "../schema.ts";
import { createHash } from "node:crypto";
import { BoundedMap } from "portico";
import type { ChannelState } from "./channel-state.ts";
import { OwnLimits } from "./limits/own-limits.ts";
import { Places, type Place } from "./limits/places.ts";
import type { OverLimit } from "./limits/rate-limit.ts";
import { SharedLimits } from "./limits/shared-limits.ts";
import type { ChannelServices, CooldownListener, CooldownMessage } from "./channel-services.ts";

const FAILURES_TO_COOL_DOWN = 3;
const FIRST_COOLDOWN_MS = 5_000;
const LONGEST_COOLDOWN_MS = 300_000;
const KEY_COOLDOWN_MS = 30_000;
/**
 * After this time a request is sent with additions again: the server may accept them by now, or the failure had another
 * cause.
 */
const WITHOUT_ADDITIONS_MS = 60 * 60_000;

/** The health of one model of a channel. A model without failures has no entry. */
interface Health {
  failures: number;
  cooldownMs: number;
  cooldownUntil: number;
  /** A request is on its way that decides whether the cooldown ends. */
  probing: boolean;
  /** Index of a key → the time until which the upstream limits that key for this model. */
  limited: Map<number, number>;
}

/** Callers may invent model names, so the number of entries is bounded. */
const MAX_MODELS = 500;

interface Key {
  value: string | undefined;
  cooldownUntil: number;
  cooldownMs: number;
}

interface ChannelOptions extends ChannelServices {
  builtin?: boolean;
}

/** All times are in milliseconds of `options.now`. */
export class Channel {
  readonly name: string;
  readonly config: ChannelConfig;
  readonly builtin: boolean;
  readonly #places: Places;
  readonly #health = new BoundedMap<Health>({ maxEntries: MAX_MODELS });
  readonly #limits: OwnLimits | undefined;
  readonly #onCooldown: CooldownListener | undefined;
  readonly #shareCooldown: ((lesson: CooldownMessage) => void) | undefined;
  #keys: Key[];
  #nextKey = 0;
  #withoutAdditionsUntil = 0;
  #now: () => number;
  #requests = 0;
  #errors = 0;
  #lastError: { message: string; at: number } | undefined;
  #latency: number | undefined;

  constructor(name: string, config: ChannelConfig, options: ChannelOptions = {}) {
    this.name = name;
    this.config = config;
    this.builtin = options.builtin ?? false;
    this.#now = options.now ?? Date.now;
    this.#onCooldown = options.onCooldown;
    this.#shareCooldown = options.shareCooldown;
    const { counts, workers, log } = options;
    this.#limits = OwnLimits.of(
      config,
      counts && new SharedLimits({ name, limits: config, now: this.#now, counts, log }),
    );
    const { maxConcurrent: max, queueTimeoutMs: queueMs = 2000 } = config;
    this.#places = new Places({ name, max, queueMs, workers });
    // An empty key counts as no key: then the provider may find credentials elsewhere.
    const keys = [config.apiKey ?? []].flat().filter((key) => key.trim() !== "");
    this.#keys = (keys.length === 0 ? [undefined] : keys).map((value) => ({
      value,
      cooldownUntil: 0,
      cooldownMs: 0,
    }));
  }

  /** Whether the upstream has refused the gateway's additions to requests in the last hour. */
  get refusesAdditions(): boolean {
    return this.#now() < this.#withoutAdditionsUntil;
  }

  /** Records that a request succeeded only without the gateway's additions. */
  recordRefusedAdditions(): void {
    this.#withoutAdditionsUntil = this.#now() + WITHOUT_ADDITIONS_MS;
  }

  get enabled(): boolean {
    return this.config.enabled !== false;
  }
  get priority(): number {
    return this.config.priority ?? 0;
  }
  /** Moving average to the first byte, milliseconds; undefined before the first response. */
  get latencyMs(): number | undefined {
    return this.#latency;
  }
  get weight(): number {
    return this.config.weight ?? 1;
  }

  /** The configured limit of the channel that blocks it for the longest time; undefined if none does. */
  overLimit(): OverLimit | undefined {
    return this.#limits?.longestLimit(this.#now());
  }

  /** Counts an attempt in the shared store. Resolves to the limit that leaves no room for it, if one does. */
  admit(): Promise<OverLimit | undefined> | undefined {
    return this.#limits?.admit();
  }

  /** Sets the cost of the current budget period, and the time at which that period ends. */
  setSpending(usd: number, until: number): void {
    this.#limits?.setSpending(usd, until);
  }

  /** Counts the tokens of a response against `tokensPerMinute`. */
  countTokens(tokens: number): void {
    this.#limits?.countTokens(this.#now(), tokens);
  }

  /**
   * When the model may be tried again; 0 if it may be tried now. The model cools down by itself, or because all keys
   * do.
   */
  cooldownUntil(model: string): number {
    const now = this.#now();
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined) {
      if (health.cooldownUntil > now) return health.cooldownUntil;
      // The cooldown is over, but only one request at a time may probe the model.
      if (health.cooldownUntil > 0 && health.probing) return now + 1;
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#keys.length; index++) {
      const until = this.#keyCooldownUntil(index, health);
      if (until <= now) return 0;
      if (until < earliest) earliest = until;
    }
    return earliest;
  }

  #keyCooldownUntil(index: number, health: Health | undefined): number {
    const refusedUntil = this.#keys[index]!.cooldownUntil;
    return health === undefined
      ? refusedUntil
      : Math.max(refusedUntil, health.limited.get(index) ?? 0);
  }

  #healthOf(model: string): Health {
    let health = this.#health.get(model);
    if (health === undefined) {
      health = { failures: 0, cooldownMs: 0, cooldownUntil: 0, probing: false, limited: new Map() };
      this.#health.set(model, health);
    }
    return health;
  }

  /**
   * Takes the next key in turn that is not in cooldown, or else the one whose cooldown ends first. `recordRefusedKey`
   * and `recordLimitedKey` take its `index`.
   */
  takeKey(model: string): { index: number; value: string | undefined } {
    const now = this.#now();
    const health = this.#health.get(model);
    const count = this.#keys.length;
    let best = this.#nextKey % count;
    for (let i = 0; i < count; i++) {
      const index = (this.#nextKey + i) % count;
      const until = this.#keyCooldownUntil(index, health);
      if (until <= now) {
        best = index;
        break;
      }
      if (until < this.#keyCooldownUntil(best, health)) best = index;
    }
    this.#nextKey = (best + 1) % count;
    return { index: best, value: this.#keys[best]!.value };
  }

  /** Whether at least one key is neither refused nor limited for the model. */
  hasFreshKey(model: string): boolean {
    const now = this.#now();
    const health = this.#health.get(model);
    return this.#keys.some((_, index) => this.#keyCooldownUntil(index, health) <= now);
  }

  /**
   * Records that the upstream refused this key (401, 403). The key cools down for all models, twice as long each time.
   */
  recordRefusedKey(index: number): void {
    const key = this.#keys[index];
    if (key === undefined) return;
    key.cooldownMs = Math.min(
      LONGEST_COOLDOWN_MS,
      key.cooldownMs === 0 ? KEY_COOLDOWN_MS : key.cooldownMs * 2,
    );
    key.cooldownUntil = this.#now() + key.cooldownMs;
    this.#share({ key: digestOf(key.value), ms: key.cooldownMs });
  }

  /** Records that the upstream limits this key for the model for `ms`. */
  recordLimitedKey(model: string, index: number, ms: number): void {
    this.#healthOf(model).limited.set(index, this.#now() + ms);
    this.#share({ model, key: digestOf(this.#keys[index]?.value), ms });
  }

  get keyCount(): number {
    return this.#keys.length;
  }

  /** Counts the start of an attempt. After a cooldown, the attempt is the probe that may end it. */
  begin(model: string): void {
    this.#requests++;
    this.#limits?.countRequest(this.#now());
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined && health.cooldownUntil > 0) health.probing = true;
  }

  recordSuccess(model: string, keyIndex: number, firstByteMs: number): void {
    if (this.#health.size > 0) {
      if ((this.#health.get(model)?.cooldownUntil ?? 0) > 0) this.#share({ model, ms: 0 });
      this.#health.delete(model);
    }
    const key = this.#keys[keyIndex];
    if (key !== undefined && key.cooldownUntil !== 0) {
      key.cooldownUntil = 0;
      key.cooldownMs = 0;
      this.#share({ key: digestOf(key.value), ms: 0 });
    }
    this.#latency =
      this.#latency === undefined ? firstByteMs : this.#latency * 0.8 + firstByteMs * 0.2;
  }

  /** Records a failure of the model. After three in a row it cools down, twice as long each time. */
  recordFailure(model: string, message: string): void {
    const health = this.#healthOf(model);
    const wasProbe = health.probing;
    this.recordNeutral(model, message);
    health.failures++;
    if (health.failures < FAILURES_TO_COOL_DOWN && !wasProbe) return;
    // Requests that were already running when the cooldown began show nothing new.
    if (health.cooldownUntil > this.#now() && !wasProbe) return;
    health.cooldownMs =
      health.cooldownMs === 0
        ? FIRST_COOLDOWN_MS
        : Math.min(LONGEST_COOLDOWN_MS, health.cooldownMs * 2);
    health.cooldownUntil = this.#now() + health.cooldownMs;
    this.#onCooldown?.({ channel: this.name, model, until: health.cooldownUntil, error: message });
    this.#share({ model, ms: health.cooldownMs });
  }

  /**
   * Records an end that shows nothing about the model's health: a refused key, an unknown model, or, without `message`,
   * a client that disconnected.
   */
  recordNeutral(model: string, message?: string): void {
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined) health.probing = false;
    if (message === undefined) return;
    this.#errors++;
    this.#lastError = { message, at: this.#now() };
  }

  /** Takes a place within `maxConcurrent`. See `Places.take`. */
  takePlace(signal?: AbortSignal): Place | Promise<Place | undefined> {
    return this.#places.take(signal);
  }

  /** Applies a cooldown that another process began or ended. */
  learn({ model, key, ms }: CooldownMessage): void {
    const until = this.#now() + ms;
    const index =
      key === undefined ? -1 : this.#keys.findIndex(({ value }) => digestOf(value) === key);
    const knownKey = index === -1 ? undefined : this.#keys[index];
    if (key === undefined && model !== undefined) {
      if (ms === 0) return void this.#health.delete(model);
      Object.assign(this.#healthOf(model), {
        failures: FAILURES_TO_COOL_DOWN,
        cooldownMs: ms,
        cooldownUntil: until,
      });
    } else if (model !== undefined && knownKey) this.#healthOf(model).limited.set(index, until);
    else if (knownKey)
      Object.assign(knownKey, { cooldownUntil: ms === 0 ? 0 : until, cooldownMs: ms });
  }

  #share(message: Omit<CooldownMessage, "channel">): void {
    this.#shareCooldown?.({ channel: this.name, ...message });
  }

  /** Describes the current state for listings. */
  describe(): ChannelState {
    const now = this.#now();
    const restingKeyCount = this.#keys.filter((key) => key.cooldownUntil > now).length;
    const restingModels = [...this.#health.keys()].filter(
      (model) => this.cooldownUntil(model) > now + 1,
    );
    const restEnds = restingModels.map((model) => this.cooldownUntil(model));
    if (restingKeyCount === this.#keys.length)
      restEnds.push(Math.min(...this.#keys.map((key) => key.cooldownUntil)));
    const limit = this.overLimit();
    if (limit !== undefined) restEnds.push(limit.until);
    const failures = Math.max(0, ...[...this.#health.values()].map((health) => health.failures));
    const failing = [...this.#health]
      .filter(([model, health]) => health.failures > 0 && !restingModels.includes(model))
      .map(([model]) => model);
    return {
      state: this.#stateOf(restEnds.length > 0, failures > 0),
      failures,
      restingUntil: restEnds.length > 0 ? new Date(Math.max(...restEnds)).toISOString() : undefined,
      overLimit: limit?.name,
      budget: this.#limits?.describe(),
      restingModels: restingModels.length > 0 ? restingModels : undefined,
      failingModels: failing.length > 0 ? failing : undefined,
      inFlight: this.#places.inFlight,
      queued: this.#places.queued,
      keys: this.#keys.filter((key) => key.value !== undefined).length,
      restingKeys: restingKeyCount,
      requests: this.#requests,
      errors: this.#errors,
      lastError: this.#lastError?.message,
      lastErrorAt:
        this.#lastError === undefined ? undefined : new Date(this.#lastError.at).toISOString(),
      latencyMs: this.#latency === undefined ? undefined : Math.round(this.#latency * 10) / 10,
    };
  }

  #stateOf(isResting: boolean, isFailing: boolean): "ok" | "failing" | "resting" | "disabled" {
    if (!this.enabled) return "disabled";
    if (isResting) return "resting";
    return isFailing ? "failing" : "ok";
  }
}

/** Identifies a key in messages to other processes, whose list of keys may differ. */
function digestOf(key = ""): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}
