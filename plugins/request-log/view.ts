/** The views of a recorded request that the routes and the command show. */
import type { FieldChange, Principal } from "portico";
import { principalOf } from "portico";
import type { HookStory, RequestStory, TryStory } from "portico/models";
import { type Entry, isOwn } from "./entry.ts";

export const OUTCOMES = ["ok", "failed", "refused", "cancelled"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One request; members whose value is unknown are absent. */
export interface RequestView {
  /** The id in the response header `x-request-id`. A client may choose it, and may use it for several requests. */
  id: string;
  /** The time at which it began, in ISO form. */
  at: string;
  /** The time until the end of its response. */
  ms: number;
  firstByteMs?: number | undefined;
  /** `refused`: no upstream received it. `cancelled`: the client disconnected. */
  outcome: Outcome;
  /** The HTTP status; 499 if the client disconnected. */
  status: number;
  error?: { code: string; message: string; limit?: string | undefined } | undefined;
  /** The name of the client key; null if none was used. */
  key: string | null;
  principal: Principal;
  /** The client's address; absent if the request did not come over HTTP. */
  address?: string | undefined;
  /** A route such as `POST /v1/chat/completions`; absent if the request did not come over HTTP. */
  route?: string | undefined;
  /** The model as the client named it: an alias, `channel/model`, or a model's name. */
  alias?: string | undefined;
  /** Further models that the client named as fallbacks. */
  fallbacks?: readonly string[] | undefined;
  stream?: boolean | undefined;
  /** The channel of the last attempt. `provider` and `model` belong to it, too; `model` is the upstream's name. */
  channel?: string | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  attempts: AttemptView[];
  hooks: HookView[];
  promptTokens?: number | undefined;
  completionTokens?: number | undefined;
  /** The prompt tokens that the provider read from its cache. */
  cachedTokens?: number | undefined;
  /** An estimate by list price, in US dollars. */
  costUsd?: number | undefined;
  /** True if the tokens, and so the cost, are estimates of the gateway. */
  estimated?: true | undefined;
  /** True if the response came from an alias's cache. */
  cached?: true | undefined;
  tags?: readonly string[] | undefined;
}

/** One request with the members that lists leave out. */
export interface RequestDetails extends RequestView {
  /** The headers `x-*` and `retry-after` of the response. */
  headers: Record<string, string>;
  /** The prompt and the response, if `log.content` covers the request. */
  prompt?: unknown;
  response?: unknown;
  /** A command that sends it again; absent if its route takes no messages. */
  curl?: string | undefined;
}

export interface AttemptView {
  channel: string;
  model: string;
  /** The time from the beginning of the request to that of the attempt. */
  startMs: number;
  ms?: number | undefined;
  firstByteMs?: number | undefined;
  /** The upstream's status; 0 if it sent none. Absent if the target was skipped. */
  status?: number | undefined;
  /** The reason why it failed or was skipped. */
  code?: string | undefined;
  cause?: string | undefined;
  skipped?: true | undefined;
}

export interface HookView {
  name: string;
  event: string;
  /** The number of calls: on a stream, a hook runs for each piece. */
  runs: number;
  /** The time of all runs together. */
  ms: number;
  /** The fields that it changed. */
  fields: readonly string[];
  effect?: "reply" | "block" | undefined;
  failures?: number | undefined;
  error?: string | undefined;
  /** The changes, if `log.content` covers the request. */
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
    ms: roundMs(ms),
    firstByteMs: record?.firstByteMs === undefined ? undefined : roundMs(record.firstByteMs),
    outcome: outcomeOf(entry),
    status: statusOf(entry),
    error: http?.error ?? story?.failure,
    key: client.key ?? null,
    principal: story?.principal ?? principalOf(client),
    address: http?.address,
    route: http && `${http.method} ${http.path}`,
    alias: story?.model,
    fallbacks: orAbsent(story?.fallbacks),
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
    tags: orAbsent(story?.tags),
  };
}

export function detailsOf(entry: Entry): RequestDetails {
  const { story, http } = entry;
  const changes = story?.hooks.map((hook) => hook.changes) ?? [];
  const view = viewOf(entry);
  const hooks = view.hooks.map((hook, i) => ({ ...hook, changes: orAbsent(changes[i]) }));
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
  const recorded = story?.record?.status;
  // A stream that failed after its beginning has the HTTP status 200, so the record's status goes first.
  if (recorded !== undefined && recorded >= 400) return recorded;
  return http?.status ?? recorded ?? 0;
}

export function outcomeOf(entry: Entry): Outcome {
  const status = statusOf(entry);
  if (status === 499) return "cancelled";
  if (status < 400) return entry.http?.cut === true ? "cancelled" : "ok";
  return hasAttempt(entry.story) ? "failed" : "refused";
}

function hasAttempt(story: RequestStory | undefined): boolean {
  return story?.tries.some(({ isSkipped }) => !isSkipped) ?? false;
}

function attemptView(attempt: TryStory): AttemptView {
  const { channel, model, startMs, ms, firstByteMs, status, failure, isSkipped } = attempt;
  return {
    channel,
    model,
    startMs: roundMs(startMs),
    ms: ms === undefined || isSkipped ? undefined : roundMs(ms),
    firstByteMs: firstByteMs === undefined ? undefined : roundMs(firstByteMs),
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
    ms: roundMs(ms),
    fields,
    effect,
    failures: failures === 0 ? undefined : failures,
    error,
  };
}

/** Returns undefined for an empty list, so that the member is absent. */
function orAbsent<T>(values: readonly T[] | undefined): readonly T[] | undefined {
  return values === undefined || values.length === 0 ? undefined : values;
}

/** Rounds to tenths of a millisecond. */
function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}
