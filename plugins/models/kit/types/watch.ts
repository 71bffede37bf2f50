/** Gates and meters, which other plugins contribute to watch over requests. */
import type { Usage } from "portico/provider";
import type { ServerResponse } from "node:http";
import type { Client, PorticoError } from "portico";
import type { ChatRecord } from "./story.ts";

/** Decides what a client key may do. The owner may do everything. */
export interface ChatGate {
  name: string;
  /** Before anything is done for a request. Throws to refuse it; may set headers on the response. */
  admit(client: Client, wanted: WantedModel, res: ServerResponse): void | Promise<void>;
  /** Whether the client may use a model; for listings. */
  allows(client: Client, wanted: WantedModel): boolean;
  /** What the requests of a client may use together: an estimate is reserved before each, what it used is charged after it. */
  limits?(client: Client): readonly SpendingLimit[];
}

/** A limit by what requests use, over all that share the store. */
export interface SpendingLimit {
  /** Names its count in the store: `key:ci:tokens`. */
  key: string;
  unit: "tokens" | "usd";
  max: number;
  /** Any 60 seconds, or the day or month of the calendar in UTC. */
  per: "minute" | "day" | "month";
  /** Whose usage a new count of a day or month begins with. */
  usageOf: { key?: string; channel?: string };
  /** The error of a request that does not fit. */
  refuse(refused: RefusedSpending): PorticoError;
}

export interface RefusedSpending {
  /** What the request may come to, in the limit's unit. */
  estimate: number;
  max: number;
  /** By requests that have ended. */
  used: number;
  /** For requests that are under way. */
  reserved: number;
  /** How long until it may fit. */
  retryAfterMs: number;
  /** It would not fit either if nothing were under way. */
  isUsedUp: boolean;
}

/** The model that a client key asks for. */
export interface WantedModel {
  /** As the client names it. */
  model: string;
  /** The channel that it names before a slash; absent for an alias or a model's own name. */
  channel?: string | undefined;
  /** Models with tools of their own (`agent`, `agent/x`) that it leads to, by whatever alias or channel. */
  acting: readonly string[];
}

/** Gets every request to a channel once it has ended, also one that reached none. It never sees prompts or responses. */
export interface ChatMeter {
  name: string;
  /**
   * Called in the path of the response: it must be quick, and not throw. Where it returns a promise, the response ends
   * only then: a client that asks again is known, wherever it asks, to have had this.
   */
  finished(record: ChatRecord): void | Promise<void>;
  /** Whether the request's story keeps the prompt and the response. Default: no. */
  keepsContent?(client: Client): boolean;
}

/** Knows what requests cost, in US dollars by list price. */
export interface ChatPricing {
  name: string;
  /** The clock that costs are dated by, and that days and months begin by. */
  now(): number;
  /** What the tokens would cost at a channel's model; undefined where the price is not known. */
  costOf(
    to: { channel: string; provider: string; model: string },
    usage: Usage,
  ): MaybePromise<number | undefined>;
  /** What is known of a channel's model, for listings. */
  facts?(to: { channel: string; provider: string; model: string }): MaybePromise<ModelFacts>;
  /** What a channel has cost since a time (milliseconds, on a full minute), at all gateways that share a store. */
  spent(channel: string, since: number): Promise<number>;
}

/** What is not known is absent. */
export interface ModelFacts {
  /** Tokens. */
  contextWindow?: number | undefined;
  /** US dollars per million tokens. */
  price?: { input: number; output: number; cachedInput?: number | undefined } | undefined;
}

/** A promise only where something must be waited for. */
export type MaybePromise<T> = T | Promise<T>;
