/** A kept request as the route and the command show it. */
import type { FieldChange, Principal } from "portico";
import { principalOf } from "portico";
import type { HookStory, RequestStory, TryStory } from "portico/models";
import { type Entry, isOwn } from "./entry.ts";

export const OUTCOMES = ["ok", "failed", "refused", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What is not known is absent. */
export interface RequestView {
  /** As in the response's `x-request-id`. A client may have chosen it, also for several requests. */
  id: string;
  /** ISO time of its beginning. */
  at: string;
  /** To the end of its response. */
  ms: number;
  firstByteMs?: number | undefined;
  /** Refused: no upstream was asked. Cancelled: the client left. */
  outcome: Outcome;
  /** 499: the client left. */
  status: number;
  error?: { code: string; message: string; limit?: string | undefined } | undefined;
  /** Null where no client key was used. */
  key: string | null;
  principal: Principal;
  /** The client's address; absent where no HTTP request asked. */
  address?: string | undefined;
  /** As `POST /v1/chat/completions`; absent where no HTTP request asked. */
  route?: string | undefined;
  /** The model as the client named it: an alias, `channel/model`, or a model's own name. */
  alias?: string | undefined;
  /** Models that the client named to go on to. */
  fallbacks?: readonly string[] | undefined;
  stream?: boolean | undefined;
  /** Of the last attempt; the upstream's own name of the model. */
  channel?: string | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  attempts: AttemptView[];
  hooks: HookView[];
  promptTokens?: number | undefined;
  completionTokens?: number | undefined;
  /** Of the prompt's. */
  cachedTokens?: number | undefined;
  /** By list price. */
  costUsd?: number | undefined;
  /** The tokens are the gateway's estimate, and so is the cost. */
  estimated?: true | undefined;
  /** An alias's cache had the response. */
  cached?: true | undefined;
  tags?: readonly string[] | undefined;
}

/** One request, with what lists leave out. */
export interface RequestDetails extends RequestView {
  /** Of the response: `x-*` and `retry-after`. */
  headers: Record<string, string>;
  /** Where `log.content` keeps them. */
  prompt?: unknown;
  response?: unknown;
  /** To send it again from a shell; absent where its route takes no messages. */
  curl?: string | undefined;
}

export interface AttemptView {
  channel: string;
  model: string;
  /** After the request's beginning. */
  startMs: number;
  ms?: number | undefined;
  firstByteMs?: number | undefined;
  /** The upstream's; 0 where it sent none. Absent where the target was passed over. */
  status?: number | undefined;
  /** Why it failed, or why it was passed over. */
  code?: string | undefined;
  cause?: string | undefined;
  skipped?: true | undefined;
}

export interface HookView {
  name: string;
  event: string;
  /** How often it was called: a stream comes in pieces. */
  runs: number;
  /** All runs together. */
  ms: number;
  /** The fields that it changed. */
  fields: readonly string[];
  effect?: "reply" | "block" | undefined;
  failures?: number | undefined;
  error?: string | undefined;
  /** Where `log.content` keeps them. */
  changes?: readonly FieldChange[] | undefined;
}

export function viewOf(entry: Entry): RequestView {
  const { story, http } = entry;
  const record = story?.record;
  const usage = record?.usage;
  const client = story?.client ?? http?.client ?? { kind: "owner" };
  const ms = http?.ms ?? record?.ms ?? 0;
  return {
    id: entry.requestId,
    at: new Date(story?.startedAt ?? entry.endedAt - ms).toISOString(),
    ms: rounded(ms),
    firstByteMs: record?.firstByteMs === undefined ? undefined : rounded(record.firstByteMs),
    outcome: outcomeOf(entry),
    status: statusOf(entry),
    error: http?.error ?? story?.failure,
    key: client.key ?? null,
    principal: story?.principal ?? principalOf(client),
    address: http?.address,
    route: http && `${http.method} ${http.path}`,
    alias: story?.model,
    fallbacks: listed(story?.fallbacks),
    stream: story?.stream,
    channel: record?.channel || story?.channel || undefined,
    provider: record?.provider || undefined,
    model: record?.model || story?.tries.findLast(({ isSkipped }) => !isSkipped)?.model,
    attempts: story?.tries.map(attemptView) ?? [],
    hooks: story?.hooks.map(hookView) ?? [],
    promptTokens: usage?.prompt_tokens,
    completionTokens: usage?.completion_tokens,
    cachedTokens: usage?.prompt_tokens_details?.cached_tokens,
    costUsd: record?.cost,
    estimated: usage?.estimated === true ? true : undefined,
    cached: record?.cached === true ? true : undefined,
    tags: listed(story?.tags),
  };
}

export function detailsOf(entry: Entry): RequestDetails {
  const { story, http } = entry;
  const changes = story?.hooks.map((hook) => hook.changes) ?? [];
  const view = viewOf(entry);
  const hooks = view.hooks.map((hook, i) => ({ ...hook, changes: listed(changes[i]) }));
  const all = Object.entries({ ...http?.headers, ...story?.headers });
  return {
    ...view,
    hooks,
    headers: Object.fromEntries(all.filter(([name]) => isOwn(name))),
    prompt: story?.content?.messages,
    response: story?.content?.response,
  };
}

export function statusOf({ story, http }: Entry): number {
  const ofRecord = story?.record?.status;
  // A stream that broke off went out under a 200.
  if (ofRecord !== undefined && ofRecord >= 400) return ofRecord;
  return http?.status ?? ofRecord ?? 0;
}

export function outcomeOf(entry: Entry): Outcome {
  const status = statusOf(entry);
  if (status === 499) return "cancelled";
  if (status < 400) return entry.http?.cut === true ? "cancelled" : "ok";
  return wasAsked(entry.story) ? "failed" : "refused";
}

function wasAsked(story: RequestStory | undefined): boolean {
  return story?.tries.some(({ isSkipped }) => !isSkipped) ?? false;
}

function attemptView(attempt: TryStory): AttemptView {
  const { channel, model, startMs, ms, firstByteMs, status, failure, isSkipped } = attempt;
  return {
    channel,
    model,
    startMs: rounded(startMs),
    ms: ms === undefined || isSkipped ? undefined : rounded(ms),
    firstByteMs: firstByteMs === undefined ? undefined : rounded(firstByteMs),
    status,
    code: failure?.code,
    cause: failure?.message,
    skipped: isSkipped ? true : undefined,
  };
}

function hookView({
  owner,
  event,
  runs,
  ms,
  fields,
  effect,
  failures,
  error,
}: HookStory): HookView {
  return {
    name: owner.replace(/^hook:/, ""),
    event,
    runs,
    ms: rounded(ms),
    fields,
    effect,
    failures: failures === 0 ? undefined : failures,
    error,
  };
}

function listed<T>(values: readonly T[] | undefined): readonly T[] | undefined {
  return values === undefined || values.length === 0 ? undefined : values;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
