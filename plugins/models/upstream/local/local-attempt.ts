/** Makes one attempt at a provider that runs in this process (`echo`, `agent`, or that of a plugin). */
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
import { LocalStream, type StreamItem } from "./local-stream.ts";
import { providerFailure } from "./provider-failed.ts";
import type { AttemptTarget } from "../target.ts";

/** Resolves when the response, or its first part, is there. */
export async function attemptLocal(attempt: LocalAttempt): Promise<ChatResponse> {
  const { provider, target, job } = attempt;
  try {
    return await respond(attempt, addCallInfo(target, job));
  } catch (error) {
    attempt.watcher.closed();
    throw isPorticoError(error) || job.cancelled
      ? error
      : providerFailure(provider.name, target.maskError(error));
  }
}

async function respond(
  attempt: LocalAttempt,
  callTarget: Target & CallInfo,
): Promise<ChatResponse> {
  const { provider, target, job } = attempt;
  const request: ChatRequest = { ...job.request, model: target.model };
  if (provider.stream !== undefined && (job.stream || provider.complete === undefined)) {
    const stream = await openStream(
      attempt,
      provider.stream(request, callTarget)[Symbol.asyncIterator](),
    );
    const firstByteMs = elapsedMs(job);
    if (job.stream) return { stream, firstByteMs };
    return wholeResponse(await readWhole(stream, target), firstByteMs);
  }
  const result = target.mask.value(
    validateResult(await withTimeout(attempt, provider.complete!(request, callTarget))),
  );
  if (job.stream) {
    const pieces = typeof result === "string" ? splitWords(result) : [partsOfCompletion(result)];
    return { stream: await openStream(attempt, fromArray(pieces)), firstByteMs: elapsedMs(job) };
  }
  attempt.watcher.closed();
  const completion = typeof result === "string" ? textCompletion(target, result) : result;
  return wholeResponse(new CallIds(job.request).claimCompletion(completion), elapsedMs(job));
}

/** Validates the result, because a plugin may be written without types. */
function validateResult(result: ChatCompletion | string): ChatCompletion | string {
  const choices: unknown = typeof result === "string" ? undefined : result?.choices;
  const isCompletion =
    Array.isArray(choices) &&
    choices.length > 0 &&
    choices.every((choice) => isObject(choice?.message));
  if (typeof result !== "string" && !isCompletion)
    throw new TypeError("it returned neither a string nor a chat completion");
  return result;
}

function wholeResponse(completion: ChatCompletion, firstByteMs: number): ChatResponse {
  return { completion, body: completionBytes(completion), firstByteMs };
}

function addCallInfo(target: AttemptTarget, job: Job): Target & CallInfo {
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

/** Settles with the work, or earlier when the client disconnects or the time is over. */
function withTimeout<T>(
  { job, provider, target, timeoutMs }: LocalAttempt,
  work: Promise<T> | T,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    // The work may end long after its attempt, while other attempts use the job.
    const settle = (complete: () => void) => {
      if (isSettled) return;
      isSettled = true;
      deadline?.stop();
      job.offCancel(canceller);
      complete();
    };
    const canceller = { cancel: () => settle(() => reject(clientDisconnected())) };
    const onTimeout = () => {
      const message = `The provider \`${provider.name}\` did not respond within ${timeoutMs} ms.`;
      const error = upstreamError({ kind: "timeout", message }, 0);
      target.stop(error);
      settle(() => reject(error));
    };
    const deadline =
      timeoutMs === undefined ? undefined : startDeadline(timeoutMs, { onDeadline: onTimeout });
    job.onCancel(canceller);
    // A plugin may be written without types, and return a plain value.
    Promise.resolve(work).then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}

async function openStream(
  attempt: LocalAttempt,
  pieces: AsyncIterator<StreamItem>,
): Promise<LocalStream> {
  const stream = new LocalStream(attempt, pieces);
  await stream.readFirst();
  return stream;
}

/** Splits a text into words, each with the space before it. */
function splitWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? (text === "" ? [] : [text]);
}

async function* fromArray(pieces: readonly StreamItem[]): AsyncGenerator<StreamItem> {
  yield* pieces;
}

function elapsedMs(job: Job): number {
  return performance.now() - job.startedAt;
}
