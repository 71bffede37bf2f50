/** Offers a response to handlers before it leaves: the one place for all formats and models. */
import type { HandlerSelection } from "portico";
import type { ChatCompletion, StreamPart } from "portico/provider";
import { type ChatResponse, completionBytes, completionOf } from "../chat-response.ts";
import type { Job } from "../job.ts";
import { type PartStream, through } from "../streams/flow.ts";
import type { Emitter } from "../events.ts";
import { hasStrayTokens, TEXTS, textIn, withMessage, withText } from "./chat-texts.ts";
import { throughEditor } from "./edited-stream.ts";
import { offerParts } from "./held-parts.ts";
import { offerNative } from "./native-texts.ts";
import { PartEditor } from "./part-editor.ts";

/** Somebody wants to see or change what leaves: it must then be in our own form. */
export function watchesSending(events: Emitter): boolean {
  return events.hasHandlers("message:sending") || events.hasHandlers("message:streaming");
}

/** A stream is held for those handlers of `message:sending` whose owner does not judge it piece by piece. */
export const HOLDING: HandlerSelection = { unlessOwnerHandles: "message:streaming" };

/** The response as handlers leave it. Rejects where one refuses a whole response; of a stream, its end is an error. */
export async function offerResponse(
  events: Emitter,
  job: Job,
  response: ChatResponse,
): Promise<ChatResponse> {
  const { stream } = response;
  if (job.trace.judged) return response;
  const sending = events.hasHandlers("message:sending", stream === undefined ? {} : HOLDING);
  if (stream === undefined) {
    if (!sending) return response;
    const own = completionOf(response);
    job.refusedUsage = own.usage;
    const native = await offerNative(response, (text) => offerText(events, job, text));
    if (native !== undefined) return native;
    const completion = await offerCompletion(events, job, own);
    return completion === undefined
      ? response
      : { ...response, completion, body: completionBytes(completion), native: false };
  }
  const edit = events.hasHandlers("message:streaming") ? editOf(events, job) : AS_IT_IS;
  const flowing = through(stream, () => throughEditor(stream, new PartEditor(edit)));
  return { ...response, stream: sending ? heldStream(events, job, flowing) : flowing };
}

/** What handlers cannot see goes from a stream that is held, too. */
const AS_IT_IS = (text: string): string => text;

/** `message:streaming` for the pieces of a stream. */
export function editOf(events: Emitter, job: Job) {
  return (text: string, final: boolean, of: number | string): Promise<string> => {
    const streamId = of === 0 ? job.requestId : `${job.requestId}#${of}`;
    const context = { streamId, text, final, source: "chat", model: modelOf(job) };
    return events
      .emit("message:streaming", context, job.emitOptions)
      .then(({ refusal, context }) => {
        if (refusal) throw refusal;
        return context.text;
      });
  };
}

/** `message:sending`: the text as handlers leave it. Rejects where one refuses it. */
export async function offerText(
  events: Emitter,
  job: Job,
  content: string,
  selection: HandlerSelection = {},
): Promise<string> {
  const context = { content, source: "chat", model: modelOf(job), to: job.client.key };
  const result = await events.emit("message:sending", context, {
    ...job.emitOptions,
    ...selection,
  });
  if (result.refusal) throw result.refusal;
  return result.context.content;
}

/** Undefined where nothing was changed. */
async function offerCompletion(
  events: Emitter,
  job: Job,
  completion: ChatCompletion,
): Promise<ChatCompletion | undefined> {
  let changed: ChatCompletion | undefined;
  for (const [i, choice] of completion.choices.entries()) {
    let { message } = choice;
    for (const name of TEXTS) {
      const text = textIn(message, name);
      const offered = text === undefined ? undefined : await offerText(events, job, text);
      if (offered !== undefined && offered !== text) message = withText(message, name, offered);
    }
    if (message === choice.message && !hasStrayTokens(choice, message)) continue;
    changed ??= { ...completion, choices: [...completion.choices] };
    changed.choices[i] = withMessage(choice, message);
  }
  return changed;
}

/** Nothing goes out before the whole stream is there and handlers have seen its text. */
function heldStream(events: Emitter, job: Job, source: PartStream): PartStream {
  return through(source, async function* () {
    const held: StreamPart[] = [];
    for await (const parts of source) held.push(...parts);
    yield await offerParts(held, (text) => offerText(events, job, text, HOLDING));
  });
}

function modelOf({ trace, request }: Job): string {
  return trace.model === "" ? request.model : trace.model;
}
