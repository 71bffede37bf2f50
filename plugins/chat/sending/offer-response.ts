/** What handlers may do to a response before it leaves: the one place for all formats and models. */
import type { HandlerSelection } from "portico";
import type { ChatCompletion } from "portico/chat";
import type { ChatResponse, Job, ResponseStream } from "../job.ts";
import { completionBytes, newCompletionId, textCompletion } from "../openai/completion.ts";
import { onTopOf, streamOf } from "../response-streams.ts";
import { gathering } from "../upstream/local/gather.ts";
import { completionOf, type Emitter } from "../serving/ask.ts";
import { hasStrayTokens, TEXTS, textIn, withMessage, withText } from "./chat-texts.ts";
import { ChunkEditor } from "./chunk-editor.ts";
import { throughEditor } from "./edited-stream.ts";

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
    job.spent = own.usage;
    const completion = await offerCompletion(events, job, own);
    return completion === undefined
      ? response
      : { ...response, completion, body: completionBytes(completion) };
  }
  const edit = events.hasHandlers("message:streaming") ? editOf(events, job) : AS_IT_IS;
  const flowing = throughEditor(stream, new ChunkEditor(edit));
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
      .emit("message:streaming", context, { sessionKey: job.sessionKey, principal: job.principal })
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
    sessionKey: job.sessionKey,
    principal: job.principal,
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
  selection: HandlerSelection = {},
): Promise<ChatCompletion | undefined> {
  let changed: ChatCompletion | undefined;
  for (const [i, choice] of completion.choices.entries()) {
    let { message } = choice;
    for (const name of TEXTS) {
      const text = textIn(message, name);
      const offered =
        text === undefined ? undefined : await offerText(events, job, text, selection);
      if (offered !== undefined && offered !== text) message = withText(message, name, offered);
    }
    if (message === choice.message && !hasStrayTokens(choice, message)) continue;
    changed ??= { ...completion, choices: [...completion.choices] };
    changed.choices[i] = withMessage(choice, message);
  }
  return changed;
}

/** Nothing but comments goes out before the whole stream is there and handlers have seen its text. */
function heldStream(events: Emitter, job: Job, source: ResponseStream): ResponseStream {
  let text: string | undefined;
  return onTopOf(source, {
    text: () => text ?? source.text,
    start(sink) {
      const held: Buffer[] = [];
      const completion = textCompletion({ id: newCompletionId(), created: 0, model: "" }, "");
      const gathered = gathering(completion);
      const finish = async (): Promise<void> => {
        gathered.end(source.usage);
        const changed = await offerCompletion(events, job, completion, HOLDING);
        text = String((changed ?? completion).choices[0]?.message.content ?? "");
        if (changed === undefined) sink.write(Buffer.concat(held));
        else
          streamOf(changed, job.includeUsage).start({
            ...sink,
            write: (bytes) => sink.write(bytes),
            end() {},
          });
        sink.end();
      };
      source.start({
        write(bytes) {
          held.push(bytes);
          gathered.push(bytes);
          return true;
        },
        end() {
          finish().catch((error) => sink.fail(error));
        },
        fail: (error) => sink.fail(error),
      });
    },
  });
}

function modelOf({ trace, request }: Job): string {
  return trace.model === "" ? request.model : trace.model;
}
