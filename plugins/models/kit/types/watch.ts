/** Gates and meters, which other plugins contribute to watch over requests. */
import type { Usage } from "portico/provider";
import type { ServerResponse } from "node:http";
import type { Client, PorticoError } from "portico";
import type { ChatRecord } from "./story.ts";

/** Decides what a client key may do. The owner may do everything. */
export interface ChatGate {
  name: string;
  /** Called before a request is processed. Throws to refuse it; may set headers on the response. */
  admit(client: Client, model: WantedModel, res: ServerResponse): void | Promise<void>;
  /** Whether the client may use a model; for listings. */
  allows(client: Client, model: WantedModel): boolean;
  /**
   * The limits that the requests of a client share: an estimate is reserved before each, and its actual usage is
   * charged after it.
   */
  limits?(client: Client): readonly SpendingLimit[];
}

/** A limit on what requests use, over all gateways that share the store. */
export interface SpendingLimit {
  /** The key of its counter in the store, as `key:ci:tokens`. */
  key: string;
  unit: "tokens" | "usd";
  max: number;
  /** Any 60 seconds, or the calendar day or month in UTC. */
  per: "minute" | "day" | "month";
  /** The key or channel whose usage so far is the start of a new counter of a day or month. */
  usageOf: { key?: string; channel?: string };
  /** Creates the error of a request that does not fit. */
  refuse(refused: RefusedSpending): PorticoError;
}

export interface RefusedSpending {
  /** The estimated usage of the request, in the limit's unit. */
  estimate: number;
  max: number;
  /** Used by requests that have ended. */
  used: number;
  /** Reserved for running requests. */
  reserved: number;
  /** The time until the request may fit. */
  retryAfterMs: number;
  /** The request would not fit even if no other were running. */
  isUsedUp: boolean;
}

/** The model that a client key requests. */
export interface WantedModel {
  /** The name that the client sent. */
  model: string;
  /** The channel that the client names before a slash; absent for an alias or a model's own name. */
  channel?: string | undefined;
  /** Models with tools of their own (`agent`, `agent/x`) to which the name leads, by whatever alias or channel. */
  acting: readonly string[];
}

/**
 * Receives every request when it has ended, also one that reached no channel. It gets prompts and responses only in the
 * record's story, and only if a meter keeps them.
 */
export interface ChatMeter {
  name: string;
  /**
   * Called before the response ends: it must be quick, and must not throw. If it returns a promise, the response ends
   * only after it: a client's next request, at any gateway, then finds this one counted.
   */
  finished(record: ChatRecord): void | Promise<void>;
  /** Whether the request's story keeps the prompt and the response. Default: no. */
  keepsContent?(client: Client): boolean;
}

/** Knows what requests cost, in US dollars by list price. */
export interface ChatPricing {
  name: string;
  /** The clock that dates costs, and by which days and months begin. */
  now(): number;
  /** Returns what the tokens cost at a channel's model; undefined if the price is not known. */
  costOf(
    to: { channel: string; provider: string; model: string },
    usage: Usage,
  ): MaybePromise<number | undefined>;
  /** Returns the known facts about a channel's model, for listings. */
  facts?(to: { channel: string; provider: string; model: string }): MaybePromise<ModelFacts>;
  /**
   * Returns what a channel has cost since a time (milliseconds, on a full minute), over all gateways that share a
   * store.
   */
  spent(channel: string, since: number): Promise<number>;
}

/** Unknown members are absent. */
export interface ModelFacts {
  /** In tokens. */
  contextWindow?: number | undefined;
  /** In US dollars per million tokens. */
  price?: { input: number; output: number; cachedInput?: number | undefined } | undefined;
}

/** A promise only if something must be awaited. */
export type MaybePromise<T> = T | Promise<T>;
