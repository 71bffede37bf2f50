/** What the engine keeps of a request for a model, so that it can be shown later. */
import type { Client, FieldChange, Principal, RequestSubject } from "portico";
import type { Usage } from "portico/provider";

/** It grows until the request has ended. Times are milliseconds; those without a date count from `startedAt`. */
export interface RequestStory extends RequestSubject {
  readonly requestId: string;
  /** Since 1970. */
  readonly startedAt: number;
  /** Models that the request named to go on to. */
  readonly fallbacks: readonly string[];
  readonly stream: boolean;
  readonly client: Client;
  readonly principal: Principal;
  /** The agent, a hook or another plugin made the request, not an HTTP client. */
  readonly isInternal: boolean;
  readonly tags: readonly string[];
  readonly hooks: readonly HookStory[];
  readonly tries: readonly TryStory[];
  /** Its outcome; absent until it has ended, and if no model was asked. */
  readonly record: ChatRecord | undefined;
  /** Why there was no whole response. */
  readonly failure: Failure | undefined;
  /** The response's `x-portico-*` headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Prompt and response, if a meter keeps them. */
  readonly content: StoryContent | undefined;
  /** Drops prompt and response, and the changes of hooks in them. */
  forgetContent(): void;
}

export interface StoryContent {
  /** Of the request, before any hook changed it. */
  messages: unknown;
  /** The whole response's choices, or the text of a stream's first one. */
  response: unknown;
}

export interface Failure {
  code: string;
  message: string;
}

/** All runs of one hook for one event: a stream has many. */
export interface HookStory {
  readonly event: string;
  /** `hook:<name>`, `plugin:<name>`. */
  readonly owner: string;
  readonly runs: number;
  readonly ms: number;
  readonly failures: number;
  /** Of its last failure. */
  readonly error: string | undefined;
  /** The fields that it changed. */
  readonly fields: readonly string[];
  readonly effect: "reply" | "block" | undefined;
  /** What it changed, where a meter keeps content. */
  readonly changes: readonly FieldChange[];
}

/** One attempt at a target, or the reason why there was none. */
export interface TryStory {
  readonly channel: string;
  readonly model: string;
  /** After the request's beginning. */
  readonly startMs: number;
  /** The target was passed over: no request went out. */
  readonly isSkipped: boolean;
  /** The upstream's; 0 where it sent none. */
  readonly status: number | undefined;
  readonly failure: Failure | undefined;
  /** To the end of the response. */
  readonly ms: number | undefined;
  readonly firstByteMs: number | undefined;
}

/** What one request came to. */
export interface ChatRecord {
  requestId: string;
  /** Another one than a chat completion: `embeddings`, `images/generations`. */
  operation?: string | undefined;
  client: Client;
  /** Of the last attempt; empty where no channel was found. */
  channel: string;
  provider: string;
  /** The upstream's own name of the model. */
  model: string;
  /** 499: the client disconnected. */
  status: number;
  /** The upstream's numbers, or an estimate if it sent none that can be true. Absent if nothing was used. */
  usage: Usage | undefined;
  /** Names that the client has given the request, for reports. */
  tags?: readonly string[];
  /** US dollars by list price; absent where the price is not known, or nothing was used. */
  cost?: number | undefined;
  ms: number;
  firstByteMs: number | undefined;
  attempts: number;
  stream: boolean;
  /** Its usage is that of other requests, which have records of their own. */
  composite: boolean;
  /** Answered from an alias's cache: no channel was asked, and it cost nothing. */
  cached?: boolean;
  /** The caller's own trace: its W3C `traceparent`, unchanged. */
  traceparent?: string | undefined;
  /** How it came to that. */
  story?: RequestStory | undefined;
}
