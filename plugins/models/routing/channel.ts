/** The state of one channel while the gateway runs: its keys, failures, cooldowns and places. */
import type { ChannelConfig } from "../schema.ts";
import { createHash } from "node:crypto";
import { BoundedMap } from "portico";
import type { ChannelState } from "./channel-state.ts";
import { OwnLimits } from "./limits/own-limits.ts";
import { Places, type Place } from "./limits/places.ts";
import type { OverLimit } from "./limits/rate-limit.ts";
import { SharedLimits } from "./limits/shared-limits.ts";
import type { ChannelSurroundings, CooldownListener, Lesson } from "./surroundings.ts";

const FAILURES_TO_COOL_DOWN = 3;
const FIRST_COOLDOWN_MS = 5_000;
const LONGEST_COOLDOWN_MS = 300_000;
const KEY_COOLDOWN_MS = 30_000;
/** A server may learn to take an addition, and a failure may have had another cause: it is tried again then. */
const BARE_MS = 60 * 60_000;

/** How one model of a channel does; those that do well are not kept. */
interface Health {
  failures: number;
  cooldownMs: number;
  cooldownUntil: number;
  /** One request finds out whether the cooldown may end. */
  probing: boolean;
  /** Key → until when the upstream limits it for this model. */
  limited: Map<number, number>;
}

/** Model names may be a caller's own invention. */
const MOST_MODELS = 500;

interface Key {
  value: string | undefined;
  cooldownUntil: number;
  cooldownMs: number;
}

interface ChannelOptions extends ChannelSurroundings {
  builtin?: boolean;
}

/** Times are milliseconds of the clock that was handed in. */
export class Channel {
  readonly name: string;
  readonly config: ChannelConfig;
  readonly builtin: boolean;
  readonly #places: Places;
  readonly #health = new BoundedMap<Health>({ maxEntries: MOST_MODELS });
  readonly #limits: OwnLimits | undefined;
  readonly #onCooldown: CooldownListener | undefined;
  readonly #teach: ((lesson: Lesson) => void) | undefined;
  #keys: Key[];
  #nextKey = 0;
  #bareUntil = 0;
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
    this.#teach = options.teach;
    const { counts, workers, log } = options;
    this.#limits = OwnLimits.of(
      config,
      counts && new SharedLimits({ name, limits: config, now: this.#now, counts, log }),
    );
    const { maxConcurrent: max, queueTimeoutMs: queueMs = 2000 } = config;
    this.#places = new Places({ name, max, queueMs, workers });
    // An empty one counts as none: then credentials may come from elsewhere.
    const keys = [config.apiKey ?? []].flat().filter((key) => key.trim() !== "");
    this.#keys = (keys.length === 0 ? [undefined] : keys).map((value) => ({
      value,
      cooldownUntil: 0,
      cooldownMs: 0,
    }));
  }

  /** Its upstream has refused what the gateway adds to requests. */
  get refusesAdditions(): boolean {
    return this.#now() < this.#bareUntil;
  }

  /** A request went through only without the gateway's additions. */
  additionsRefused(): void {
    this.#bareUntil = this.#now() + BARE_MS;
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

  /** The limit of its own that it is over for the longest; undefined where it is over none. */
  overLimit(): OverLimit | undefined {
    return this.#limits?.over(this.#now());
  }

  /** Asked before each attempt: the limit that those who count with us leave no room in. */
  admit(): Promise<OverLimit | undefined> | undefined {
    return this.#limits?.admit();
  }

  /** What its budget's period has cost by now, and when it ends. */
  spent(usd: number, until: number): void {
    this.#limits?.spent(usd, until);
  }

  /** What a response came to. */
  used(tokens: number): void {
    this.#limits?.used(this.#now(), tokens);
  }

  /** When the model may be tried again: 0 where it may now. It cools down by itself, or because all keys do. */
  cooldownUntil(model: string): number {
    const now = this.#now();
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined) {
      if (health.cooldownUntil > now) return health.cooldownUntil;
      // The cooldown is over, but only one request at a time may find out.
      if (health.cooldownUntil > 0 && health.probing) return now + 1;
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.#keys.length; index++) {
      const until = this.#keyUntil(index, health);
      if (until <= now) return 0;
      if (until < earliest) earliest = until;
    }
    return earliest;
  }

  #keyUntil(index: number, health: Health | undefined): number {
    const refused = this.#keys[index]!.cooldownUntil;
    return health === undefined ? refused : Math.max(refused, health.limited.get(index) ?? 0);
  }

  #healthOf(model: string): Health {
    let health = this.#health.get(model);
    if (health === undefined) {
      health = { failures: 0, cooldownMs: 0, cooldownUntil: 0, probing: false, limited: new Map() };
      this.#health.set(model, health);
    }
    return health;
  }

  /** The next key in turn that does not cool down; of those that do, the one whose cooldown ends first. Its index names it to `keyRefused`. */
  takeKey(model: string): { index: number; value: string | undefined } {
    const now = this.#now();
    const health = this.#health.get(model);
    const count = this.#keys.length;
    let best = this.#nextKey % count;
    for (let i = 0; i < count; i++) {
      const index = (this.#nextKey + i) % count;
      const until = this.#keyUntil(index, health);
      if (until <= now) {
        best = index;
        break;
      }
      if (until < this.#keyUntil(best, health)) best = index;
    }
    this.#nextKey = (best + 1) % count;
    return { index: best, value: this.#keys[best]!.value };
  }

  /** Another key than the refused or limited ones is ready. */
  hasFreshKey(model: string): boolean {
    const now = this.#now();
    const health = this.#health.get(model);
    return this.#keys.some((_, index) => this.#keyUntil(index, health) <= now);
  }

  /** The upstream refused this key (401, 403): it cools down for a doubling time, whatever the model. */
  keyRefused(index: number): void {
    const key = this.#keys[index];
    if (key === undefined) return;
    key.cooldownMs = Math.min(
      LONGEST_COOLDOWN_MS,
      key.cooldownMs === 0 ? KEY_COOLDOWN_MS : key.cooldownMs * 2,
    );
    key.cooldownUntil = this.#now() + key.cooldownMs;
    this.#share({ key: digestOf(key.value), ms: key.cooldownMs });
  }

  /** The upstream limited this key for the model. */
  keyLimited(model: string, index: number, ms: number): void {
    this.#healthOf(model).limited.set(index, this.#now() + ms);
    this.#share({ model, key: digestOf(this.#keys[index]?.value), ms });
  }

  get keyCount(): number {
    return this.#keys.length;
  }

  /** An attempt begins: after a cooldown, it is the probe that may end it. */
  begin(model: string): void {
    this.#requests++;
    this.#limits?.asked(this.#now());
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined && health.cooldownUntil > 0) health.probing = true;
  }

  succeeded(model: string, keyIndex: number, firstByteMs: number): void {
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

  /** The model failed a request: three in a row and it cools down, twice as long each time. */
  failed(model: string, message: string): void {
    const health = this.#healthOf(model);
    const wasProbe = health.probing;
    this.noted(model, message);
    health.failures++;
    if (health.failures < FAILURES_TO_COOL_DOWN && !wasProbe) return;
    // Requests that ran beside the one that began the cooldown show nothing new.
    if (health.cooldownUntil > this.#now() && !wasProbe) return;
    health.cooldownMs =
      health.cooldownMs === 0
        ? FIRST_COOLDOWN_MS
        : Math.min(LONGEST_COOLDOWN_MS, health.cooldownMs * 2);
    health.cooldownUntil = this.#now() + health.cooldownMs;
    this.#onCooldown?.({ channel: this.name, model, until: health.cooldownUntil, error: message });
    this.#share({ model, ms: health.cooldownMs });
  }

  /** For an error that shows nothing about the model's health (a refused key, an unknown model), or a client that disconnected. */
  noted(model: string, message?: string): void {
    const health = this.#health.size === 0 ? undefined : this.#health.get(model);
    if (health !== undefined) health.probing = false;
    if (message === undefined) return;
    this.#errors++;
    this.#lastError = { message, at: this.#now() };
  }

  /** A place within `maxConcurrent`, as `Places` gives it. */
  place(signal?: AbortSignal): Place | Promise<Place | undefined> {
    return this.#places.take(signal);
  }

  /** Takes over what another process has learned. */
  learn({ model, key, ms }: Lesson): void {
    const until = this.#now() + ms;
    const index =
      key === undefined ? -1 : this.#keys.findIndex(({ value }) => digestOf(value) === key);
    const known = index === -1 ? undefined : this.#keys[index];
    if (key === undefined && model !== undefined) {
      if (ms === 0) return void this.#health.delete(model);
      Object.assign(this.#healthOf(model), {
        failures: FAILURES_TO_COOL_DOWN,
        cooldownMs: ms,
        cooldownUntil: until,
      });
    } else if (model !== undefined && known) this.#healthOf(model).limited.set(index, until);
    else if (known) Object.assign(known, { cooldownUntil: ms === 0 ? 0 : until, cooldownMs: ms });
  }

  #share(lesson: Omit<Lesson, "channel">): void {
    this.#teach?.({ channel: this.name, ...lesson });
  }

  /** For listings. */
  describe(): ChannelState {
    const now = this.#now();
    const restingKeys = this.#keys.filter((key) => key.cooldownUntil > now).length;
    const resting = [...this.#health.keys()].filter((model) => this.cooldownUntil(model) > now + 1);
    const restEnds = resting.map((model) => this.cooldownUntil(model));
    if (restingKeys === this.#keys.length)
      restEnds.push(Math.min(...this.#keys.map((key) => key.cooldownUntil)));
    const over = this.overLimit();
    if (over !== undefined) restEnds.push(over.until);
    const failures = Math.max(0, ...[...this.#health.values()].map((health) => health.failures));
    const failing = [...this.#health]
      .filter(([model, health]) => health.failures > 0 && !resting.includes(model))
      .map(([model]) => model);
    return {
      state: this.#stateOf(restEnds.length > 0, failures > 0),
      failures,
      restingUntil: restEnds.length > 0 ? new Date(Math.max(...restEnds)).toISOString() : undefined,
      overLimit: over?.name,
      budget: this.#limits?.describe(),
      restingModels: resting.length > 0 ? resting : undefined,
      failingModels: failing.length > 0 ? failing : undefined,
      inFlight: this.#places.inFlight,
      queued: this.#places.queued,
      keys: this.#keys.filter((key) => key.value !== undefined).length,
      restingKeys,
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

/** Names a key to other processes, whose list of keys may be another. */
function digestOf(key = ""): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}
