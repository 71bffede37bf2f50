/** One attempt at a provider that answers in this process (`echo`, `agent`, a plugin's own). */
import { isPorticoError } from "portico";
import {
  type CallInfo,
  CallIds,
  type ChatCompletion,
  type ChatRequest,
  isObject,
  partsOfCompletion,
  type Target,
  textCompletion,
  upstreamError,
} from "portico/provider";
import type { LocalAttempt } from "../attempt.ts";
import { startDeadline } from "../deadline.ts";
import { type ChatResponse, completionBytes } from "../../chat-response.ts";
import { clientDisconnected, type Job } from "../../job.ts";
import { readWhole } from "../../streams/read-whole.ts";
import { LocalStream, type Piece } from "./local-stream.ts";
import { providerFailure } from "./provider-failed.ts";
import type { AttemptTarget } from "../target.ts";

/** Resolves once the response, or its first piece, is there. */
export async function attemptLocal(attempt: LocalAttempt): Promise<ChatResponse> {
  const { provider, target, job } = attempt;
  try {
    return await answer(attempt, withCall(target, job));
  } catch (error) {
    attempt.watcher.closed();
    throw isPorticoError(error) || job.cancelled
      ? error
      : providerFailure(provider.name, target.hide(error));
  }
}

async function answer(attempt: LocalAttempt, callTarget: Target & CallInfo): Promise<ChatResponse> {
  const { provider, target, job } = attempt;
  const request: ChatRequest = { ...job.request, model: target.model };
  if (provider.stream !== undefined && (job.stream || provider.complete === undefined)) {
    const stream = await begin(
      attempt,
      provider.stream(request, callTarget)[Symbol.asyncIterator](),
    );
    const firstByteMs = since(job);
    if (job.stream) return { stream, firstByteMs };
    return whole(await readWhole(stream, target), firstByteMs);
  }
  const given = target.mask.value(
    checked(await inTime(attempt, provider.complete!(request, callTarget))),
  );
  if (job.stream) {
    const pieces = typeof given === "string" ? words(given) : [partsOfCompletion(given)];
    return { stream: await begin(attempt, fromArray(pieces)), firstByteMs: since(job) };
  }
  attempt.watcher.closed();
  const completion = typeof given === "string" ? textCompletion(target, given) : given;
  return whole(new CallIds(job.request).claimCompletion(completion), since(job));
}

/** A plugin may be written without types. */
function checked(given: ChatCompletion | string): ChatCompletion | string {
  const choices: unknown = typeof given === "string" ? undefined : given?.choices;
  const isCompletion =
    Array.isArray(choices) && choices.length > 0 && choices.every((one) => isObject(one?.message));
  if (typeof given !== "string" && !isCompletion)
    throw new TypeError("it returned neither a string nor a chat completion");
  return given;
}

function whole(completion: ChatCompletion, firstByteMs: number): ChatResponse {
  return { completion, body: completionBytes(completion), firstByteMs };
}

function withCall(target: AttemptTarget, job: Job): Target & CallInfo {
  const info: CallInfo = {
    requestId: job.requestId,
    client: job.client,
    principal: job.principal,
    sessionKey: job.sessionKey,
    leaves: job.isJudged,
    dropped: job.trace.dropped,
  };
  return Object.assign(target, info);
}

/** Settles with the work, or before it when the client has disconnected or the time is over. */
function inTime<T>(
  { job, provider, target, timeoutMs }: LocalAttempt,
  work: Promise<T> | T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    // The work may end long after its attempt, when others are at the job.
    const settle = (how: () => void) => {
      if (over) return;
      over = true;
      deadline?.stop();
      job.offCancel(worker);
      how();
    };
    const worker = { cancel: () => settle(() => reject(clientDisconnected())) };
    const late = () => {
      const message = `The provider \`${provider.name}\` did not answer within ${timeoutMs} ms.`;
      const error = upstreamError({ kind: "timeout", message }, 0);
      target.stop(error);
      settle(() => reject(error));
    };
    const deadline = timeoutMs === undefined ? undefined : startDeadline(timeoutMs, { late });
    job.onCancel(worker);
    // A plugin may be written without types, and return a plain value.
    Promise.resolve(work).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

async function begin(attempt: LocalAttempt, pieces: AsyncIterator<Piece>): Promise<LocalStream> {
  const stream = new LocalStream(attempt, pieces);
  await stream.first();
  return stream;
}

/** A text in words, each with the space before it. */
function words(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? (text === "" ? [] : [text]);
}

async function* fromArray(pieces: readonly Piece[]): AsyncGenerator<Piece> {
  yield* pieces;
}

function since(job: Job): number {
  return performance.now() - job.startedAt;
}
