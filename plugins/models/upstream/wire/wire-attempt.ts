/** Makes one attempt at an upstream over HTTP. */
import {
  applyChatRules,
  applyMessagesRules,
  atSource,
  type NativeForm,
  type RequestRule,
  sourcePath,
  type WireRequest,
} from "portico/provider";
import type { ChatResponse } from "../../chat-response.ts";
import { clientDisconnected, type Job } from "../../job.ts";
import type { WireAttempt } from "../attempt.ts";
import { checkTranslated } from "../untranslated.ts";
import { WireExchange } from "./wire-exchange.ts";
import { wireRequest } from "./wire-request.ts";

const NO_RULES: readonly RequestRule[] = [];

/** Resolves with the beginning of the response. Rejects with an error that occurs before it. */
export function attemptWire(attempt: WireAttempt): Promise<ChatResponse> {
  const authorized = attempt.target.authorize(attempt.wire);
  return authorized === undefined ? begin(attempt) : authorized.then(() => begin(attempt));
}

function begin(attempt: WireAttempt): Promise<ChatResponse> {
  const { wire, job } = attempt;
  const native = job.native === undefined ? undefined : wire.native?.[job.native.form];
  const nativeResponse = native === undefined ? undefined : beginNative(attempt, native);
  return nativeResponse ?? beginChat(attempt);
}

/** Sends the request in the caller's format. Returns undefined if it must be translated. */
function beginNative(attempt: WireAttempt, native: NativeForm): Promise<ChatResponse> | undefined {
  const { wire, target, job } = attempt;
  const rules = native.hasOwnRules === true ? NO_RULES : (wire.rules ?? NO_RULES);
  const applied = applyMessagesRules(rules, job.native!.body, { target });
  const { request, changed } = applied;
  const call = native.encode({ ...job.native!, body: request }, target);
  if (call === undefined) return undefined;
  const dropped = [...applied.dropped, ...call.dropped];
  job.trace.additions = call.additions ?? [];
  return exchange({ ...attempt, native }, call, { changed, dropped });
}

function beginChat(attempt: WireAttempt): Promise<ChatResponse> {
  const { job, signatures, target } = attempt;
  if (job.translated) checkTranslated(job);
  if (signatures === undefined) return sendChat(attempt, job.request);
  const restoring = signatures.restore(job.client, target.channel, job.request);
  return restoring.then((request) => sendChat(attempt, request));
}

/**
 * Sends the request in OpenAI's format. `signedRequest` is the job's request, or a copy with the signatures that the
 * client did not send back.
 */
function sendChat(attempt: WireAttempt, signedRequest: Job["request"]): Promise<ChatResponse> {
  const { wire, target, job, askUsage } = attempt;
  const applied = applyChatRules(wire.rules ?? NO_RULES, signedRequest, {
    target,
    isTranslated: job.translated,
    isWellFormed: isWellFormed(job),
  });
  const request = applied.request as Job["request"];
  const call = atSource(request, () => wireRequest(wire, target, job, { request, askUsage }));
  const send = (sent: WireRequest) => {
    const dropped = [...applied.dropped, ...sent.dropped.map((path) => sourcePath(request, path))];
    job.trace.additions = listAdditions(attempt, sent);
    const changed = [...listRestored(job.request, signedRequest), ...applied.changed];
    return exchange(attempt, sent, { changed, dropped });
  };
  return call instanceof Promise ? call.then(send) : send(call);
}

/** Names the messages whose signatures were restored, for `x-portico-changed`. */
function listRestored(original: Job["request"], signedRequest: Job["request"]): string[] {
  if (original === signedRequest) return [];
  return signedRequest.messages.flatMap((message, i) =>
    message === original.messages[i]
      ? []
      : [`restored-signature ${sourcePath(signedRequest, `messages[${i}]`)}`],
  );
}

/** Names the gateway's additions to the request. See `WireRequest`. */
function listAdditions({ wire, target, job, askUsage }: WireAttempt, sent: WireRequest): string[] {
  const additions = [...(sent.additions ?? [])];
  const isOwn = job.ownStreamOptions && !target.bare && job.request["stream_options"] != null;
  if (job.stream && wire.streamUsage === true && (askUsage || isOwn))
    additions.push("stream_options");
  return additions;
}

/**
 * Whether the request is well-formed Unicode. Its bytes are UTF-8, so only an escape can express half of a surrogate
 * pair.
 */
function isWellFormed({ raw }: Job): boolean {
  return raw !== undefined && !raw.includes("\\ud") && !raw.includes("\\uD");
}

function exchange(
  attempt: WireAttempt,
  call: WireRequest,
  { changed, dropped }: { changed: string[]; dropped: string[] },
): Promise<ChatResponse> {
  const { job } = attempt;
  job.trace.changed = changed;
  job.trace.dropped = dropped;
  return new Promise<ChatResponse>((resolve, reject) => {
    if (job.cancelled) reject(clientDisconnected());
    else new WireExchange(attempt, call, { resolve, reject }).send();
  });
}
