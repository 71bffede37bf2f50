/** Collects what happens to one job. It has plain fields to stay cheap, because every request has one. */
import { type Client, type FieldChange, type HandlerRun, isPorticoError } from "portico";
import type { Principal } from "portico";
import type {
  ChatRecord,
  Failure,
  HookStory,
  RequestStory,
  StoryContent,
  TryStory,
} from "portico/models";
import { isUpstreamError } from "portico/provider";

const NO_HOOKS: Hook[] = [];
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});
/** Limit for messages, since those of upstreams may be long. */
const MAX_MESSAGE_LENGTH = 1000;
/** Limit per hook, since it may change a stream many times. */
const MAX_CHANGES = 20;
/** Limit of attempts: the story keeps only the first ones. */
const MAX_TRIES = 100;

export interface StoryOptions {
  requestId: string;
  model: string;
  fallbacks: readonly string[];
  stream: boolean;
  client: Client;
  principal: Principal;
}

type Hook = { -readonly [K in keyof HookStory]: HookStory[K] } & {
  fields: string[];
  changes: FieldChange[];
};

export class Story implements RequestStory {
  readonly requestId: string;
  readonly startedAt = Date.now();
  readonly model: string;
  readonly fallbacks: readonly string[];
  readonly stream: boolean;
  readonly client: Client;
  readonly principal: Principal;
  isInternal = false;
  tags: readonly string[] = [];
  hooks: Hook[] = NO_HOOKS;
  readonly tries: Attempt[] = [];
  record: ChatRecord | undefined = undefined;
  failure: Failure | undefined = undefined;
  headers: Readonly<Record<string, string>> = NO_HEADERS;
  content: StoryContent | undefined = undefined;
  readonly #start = performance.now();
  #lastError: unknown;

  constructor(options: StoryOptions) {
    this.requestId = options.requestId;
    this.model = options.model;
    this.fallbacks = options.fallbacks;
    this.stream = options.stream;
    this.client = options.client;
    this.principal = options.principal;
  }

  get channel(): string {
    return this.tries.findLast((attempt) => !attempt.isSkipped)?.channel ?? "";
  }

  get attempts(): number {
    return this.tries.reduce((sum, { isSkipped }) => (isSkipped ? sum : sum + 1), 0);
  }

  /** Records that a request is about to be sent to a target. */
  begin(channel: string, model: string): Attempt {
    const attempt = new Attempt(channel, model, this.#elapsed());
    this.#add(attempt);
    return attempt;
  }

  /** Records that an attempt has failed. */
  recordFailure(attempt: Attempt, error: unknown): void {
    this.#lastError = error;
    attempt.recordFailure(error, this.#elapsed());
  }

  /** Records a skipped target, unless its error is already recorded with the attempt. */
  skip(channel: string, model: string, error: unknown): void {
    if (error === this.#lastError) return;
    const attempt = new Attempt(channel, model, this.#elapsed());
    attempt.isSkipped = true;
    attempt.failure = failureOf(error);
    this.#add(attempt);
  }

  recordEnd(attempt: Attempt): void {
    attempt.ms ??= this.#elapsed() - attempt.startMs;
  }

  /** Records why the request has no whole response. */
  setFailure(error: unknown): void {
    this.failure = failureOf(error);
  }

  forgetContent(): void {
    this.content = undefined;
    for (const hook of this.hooks) hook.changes = [];
  }

  /** Records a call of a hook. See `EmitOptions.trail`. */
  recordRun({ event, outcome, changes, effect }: HandlerRun): void {
    const { owner, ms, ok, error } = outcome;
    if (this.hooks === NO_HOOKS) this.hooks = [];
    let hook = this.hooks.find(
      (candidate) => candidate.event === event && candidate.owner === owner,
    );
    if (hook === undefined) {
      hook = { event, owner, ...NO_RUNS, fields: [], changes: [] };
      this.hooks.push(hook);
    }
    hook.runs++;
    hook.ms += ms;
    hook.effect = effect ?? hook.effect;
    if (!ok) {
      hook.failures++;
      hook.error = error?.message.slice(0, MAX_MESSAGE_LENGTH);
    }
    for (const change of changes) {
      if (!hook.fields.includes(change.field)) hook.fields.push(change.field);
      if (this.content !== undefined && hook.changes.length < MAX_CHANGES)
        hook.changes.push(change);
    }
  }

  #add(attempt: Attempt): void {
    if (this.tries.length < MAX_TRIES) this.tries.push(attempt);
  }

  #elapsed(): number {
    return performance.now() - this.#start;
  }
}

const NO_RUNS = { runs: 0, ms: 0, failures: 0, error: undefined, effect: undefined } as const;

export class Attempt implements TryStory {
  readonly channel: string;
  readonly model: string;
  readonly startMs: number;
  isSkipped = false;
  status: number | undefined = undefined;
  failure: Failure | undefined = undefined;
  ms: number | undefined = undefined;
  firstByteMs: number | undefined = undefined;

  constructor(channel: string, model: string, startMs: number) {
    this.channel = channel;
    this.model = model;
    this.startMs = startMs;
  }

  /** `elapsed`: milliseconds since the beginning of the request. */
  recordFailure(error: unknown, elapsed: number): void {
    this.ms ??= elapsed - this.startMs;
    this.failure = failureOf(error);
    if (isUpstreamError(error)) this.status = error.upstreamStatus;
  }
}

function failureOf(error: unknown): Failure {
  if (!isPorticoError(error)) return { code: "internal_error", message: "Internal error." };
  return { code: error.code, message: error.message.slice(0, MAX_MESSAGE_LENGTH) };
}
