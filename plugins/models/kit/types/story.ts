/** The record of a request for a model, which is kept so that it can be shown later. */
import type { Client, FieldChange, Principal, RequestSubject } from "portico";
import type { Usage } from "portico/provider";

/**
 * The story grows until the request has ended. Times are in milliseconds, and relative to `startedAt` unless stated
 * otherwise.
 */
export interface RequestStory extends RequestSubject {
  readonly requestId: string;
  /** In milliseconds since 1970. */
  readonly startedAt: number;
  /** Models that the request named as fallbacks. */
  readonly fallbacks: readonly string[];
  readonly stream: boolean;
  readonly client: Client;
  readonly principal: Principal;
  /** The agent, a hook or another plugin made the request, not an HTTP client. */
  readonly isInternal: boolean;
  readonly tags: readonly string[];
  readonly hooks: readonly HookStory[];
  readonly tries: readonly TryStory[];
  /** The outcome; absent until the request has ended, and if no model was requested. */
  readonly record: ChatRecord | undefined;
  /** The reason why there was no whole response. */
  readonly failure: Failure | undefined;
  /** The response's `x-portico-*` headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Prompt and response, if a meter keeps them. */
  readonly content: StoryContent | undefined;
  /** Drops prompt and response, and the changes of hooks in them. */
  forgetContent(): void;
}

export interface StoryContent {
  /** The messages of the request before any hook changed them. */
  messages: unknown;
  /** The whole response's choices, or the text of a stream's first one. */
  response: unknown;
}

export interface Failure {
  code: string;
  message: string;
}

/** All calls of one hook for one event: a stream causes many. */
export interface HookStory {
  readonly event: string;
  /** `hook:<name>`, `plugin:<name>`. */
  readonly owner: string;
  readonly runs: number;
  readonly ms: number;
  readonly failures: number;
  /** The message of the last failure. */
  readonly error: string | undefined;
  /** The fields that the hook changed. */
  readonly fields: readonly string[];
  readonly effect: "reply" | "block" | undefined;
  /** The changes that the hook made, if a meter keeps content. */
  readonly changes: readonly FieldChange[];
}

/** One attempt at a target, or the reason why there was none. */
export interface TryStory {
  readonly channel: string;
  readonly model: string;
  /** Time after the beginning of the request. */
  readonly startMs: number;
  /** The target was skipped: no request was sent. */
  readonly isSkipped: boolean;
  /** The upstream's status; 0 if it sent none. */
  readonly status: number | undefined;
  readonly failure: Failure | undefined;
  /** Time to the end of the response. */
  readonly ms: number | undefined;
  readonly firstByteMs: number | undefined;
}

/** The outcome of one request. */
export interface ChatRecord {
  requestId: string;
  /** The route if it is not chat: `embeddings`, `images/generations`. */
  operation?: string | undefined;
  client: Client;
  /** The channel of the last attempt; empty if no channel was found. */
  channel: string;
  provider: string;
  /** The upstream's name of the model. */
  model: string;
  /** 499: the client disconnected. */
  status: number;
  /** The upstream's numbers, or an estimate if it sent no plausible ones. Absent if nothing was used. */
  usage: Usage | undefined;
  /** Tags of the client, for reports. */
  tags?: readonly string[];
  /** In US dollars by list price; absent if the price is not known, or nothing was used. */
  cost?: number | undefined;
  ms: number;
  firstByteMs: number | undefined;
  attempts: number;
  stream: boolean;
  /** The usage is that of other requests, which have records of their own. */
  composite: boolean;
  /** The response is from the cache of an alias: no channel was requested, and it cost nothing. */
  cached?: boolean;
  /** The caller's W3C `traceparent`, unchanged. */
  traceparent?: string | undefined;
  /** The story of the request. */
  story?: RequestStory | undefined;
}
