/** Offers a response to handlers before it is sent, for all formats and models. */
import type { HandlerSelection } from "portico";
import type { ChatCompletion, StreamPart } from "portico/provider";
import { type ChatResponse, completionBytes, completionOf } from "../chat-response.ts";
import type { Job } from "../job.ts";
import { type PartStream, wrapFlow } from "../streams/flow.ts";
import type { Emitter } from "../events.ts";
import { hasStrayTokens, TEXTS, textIn, withMessage, withText } from "./chat-texts.ts";
import { throughEditor } from "./edited-stream.ts";
import { offerParts } from "./held-parts.ts";
import { offerNative } from "./native-texts.ts";
import { PartEditor } from "./part-editor.ts";

/** Whether a handler watches what is sent. The response must then be in OpenAI's format. */
export function watchesSending(events: Emitter): boolean {
  return events.hasHandlers("message:sending") || events.hasHandlers("message:streaming");
}

/**
 * Selects the handlers of `message:sending` for which a stream is held: those whose owner does not judge it piece by
 * piece.
 */
export const HOLDING_HANDLERS: HandlerSelection = { unlessOwnerHandles: "message:streaming" };

/**
 * Returns the response as handlers change it. Rejects if one refuses a whole response; a refused stream ends with the
 * error.
 */
export async function offerResponse(
  events: Emitter,
  job: Job,
  response: ChatResponse,
): Promise<ChatResponse> {
  const { stream } = response;
  if (job.trace.judged) return response;
  const hasSendingHandlers = events.hasHandlers(
    "message:sending",
    stream === undefined ? {} : HOLDING_HANDLERS,
  );
  if (stream === undefined) {
    if (!hasSendingHandlers) return response;
    const original = completionOf(response);
    job.refusedUsage = original.usage;
    const native = await offerNative(response, (text) => offerText(events, job, text));
    if (native !== undefined) return native;
    const completion = await offerCompletion(events, job, original);
    return completion === undefined
      ? response
      : { ...response, completion, body: completionBytes(completion), native: false };
  }
  const edit = events.hasHandlers("message:streaming") ? createEdit(events, job) : KEEP_TEXT;
  const edited = wrapFlow(stream, () => throughEditor(stream, new PartEditor(edit)));
  return { ...response, stream: hasSendingHandlers ? holdStream(events, job, edited) : edited };
}

/** Keeps each text. Also for a held stream, the editor removes what handlers cannot see. */
const KEEP_TEXT = (text: string): string => text;

/** Creates the function that emits `message:streaming` for the pieces of a stream. */
export function createEdit(events: Emitter, job: Job) {
  return (text: string, final: boolean, textKey: number | string): Promise<string> => {
    const streamId = textKey === 0 ? job.requestId : `${job.requestId}#${textKey}`;
    const context = { streamId, text, final, source: "chat", model: modelOf(job) };
    return events
      .emit("message:streaming", context, job.emitOptions)
      .then(({ refusal, context }) => {
        if (refusal) throw refusal;
        return context.text;
      });
  };
}

/** Emits `message:sending` and returns the text as handlers change it. Rejects if one refuses it. */
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

/** Offers all texts of a completion to handlers. Returns undefined if nothing changes. */
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

/** Sends nothing before the whole stream is there and handlers have seen its text. */
function holdStream(events: Emitter, job: Job, source: PartStream): PartStream {
  return wrapFlow(source, async function* () {
    const allParts: StreamPart[] = [];
    for await (const parts of source) allParts.push(...parts);
    yield await offerParts(allParts, (text) => offerText(events, job, text, HOLDING_HANDLERS));
  });
}

function modelOf({ trace, request }: Job): string {
  return trace.model === "" ? request.model : trace.model;
}
