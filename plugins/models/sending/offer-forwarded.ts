/** Offers the texts of OpenAI's routes other than chat to handlers: completions, transcriptions, translations. */
import type { PorticoError } from "portico";
import { type ApiRoute, parseExact, stringifyExact } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import { clientDisconnected, type Job } from "../job.ts";
import type { ByteStream } from "../streams/flow.ts";
import type { Emitter } from "../events.ts";
import { throughEditor } from "./edited-stream.ts";
import { EventEditor, rewriteEvents } from "./forwarded-events.ts";
import { createEdit, HOLDING_HANDLERS, offerText, watchesSending } from "./offer-response.ts";
import { dropStray, slotsOfResponse } from "./text-slots.ts";
import { WHOLE_RESPONSE } from "../upstream/response-extent.ts";
import { HeldResponse } from "../upstream/held-response.ts";
import { errors } from "../errors.ts";

const TEXT_ROUTES: readonly ApiRoute[] = [
  "completions",
  "audio/transcriptions",
  "audio/translations",
];
/** Any text is smaller than this. A larger response could not be judged, and is refused. */
const LIMITS = { ...WHOLE_RESPONSE, bytes: 32 * 1024 * 1024 };

/** Whether the route returns text, and a handler watches it. */
export function judgesRoute(events: Emitter, route: ApiRoute): boolean {
  return TEXT_ROUTES.includes(route) && watchesSending(events);
}

/**
 * Returns the response as handlers change it. Rejects if one refuses a whole response; a refused stream ends with the
 * error.
 */
export async function offerForwarded(
  events: Emitter,
  job: Job,
  response: ChatResponse,
): Promise<ChatResponse> {
  const { bytes, headers = {} } = response;
  const type = headers["content-type"] ?? "";
  const selection = type.startsWith("text/event-stream") ? HOLDING_HANDLERS : {};
  const hasSendingHandlers = events.hasHandlers("message:sending", selection);
  const offer = (text: string) => offerText(events, job, text, selection);
  if (bytes === undefined) {
    const { completion } = response;
    if (hasSendingHandlers && completion !== undefined)
      await offerSlots(completion as unknown as Members, offer);
    return response;
  }
  if (type.startsWith("text/event-stream")) {
    const edited = events.hasHandlers("message:streaming")
      ? withBytes(bytes, () => throughEditor(bytes, new EventEditor(createEdit(events, job))))
      : bytes;
    return { ...response, bytes: hasSendingHandlers ? holdEvents(edited, offer) : edited };
  }
  if (!hasSendingHandlers) return response;
  const body = await collectBytes(bytes);
  if (job.cancelled) throw clientDisconnected();
  job.refusedUsage = bytes.usage;
  const changedBody = await offerBody(body, type, offer);
  const { "content-length": _, ...otherHeaders } = headers;
  return {
    ...response,
    headers: otherHeaders,
    bytes: withBytes(bytes, () => yieldOnce(changedBody)),
  };
}

/** Replaces the bytes of a stream. */
function withBytes(source: ByteStream, read: () => AsyncIterator<readonly Buffer[]>): ByteStream {
  return {
    get usage() {
      return source.usage;
    },
    cancel: () => source.cancel(),
    [Symbol.asyncIterator]: read,
  };
}

async function* yieldOnce(bytes: Buffer): AsyncGenerator<readonly Buffer[]> {
  yield [bytes];
}

type Members = Record<string, unknown>;
type Offer = (text: string) => Promise<string>;

/** Offers all texts of a response to handlers. Resolves to true if anything changed. */
async function offerSlots(members: Members, offer: Offer): Promise<boolean> {
  let isChanged = dropStray(members);
  for (const slot of slotsOfResponse(members)) {
    const offered = slot.text === "" ? "" : await offer(slot.text);
    if (offered === slot.text) continue;
    slot.set(offered);
    isChanged = true;
  }
  return isChanged;
}

async function offerBody(bytes: Buffer, type: string, offer: Offer): Promise<Buffer> {
  const text = bytes.toString("utf8");
  if (!/json/i.test(type)) return text === "" ? bytes : Buffer.from(await offer(text));
  let members: unknown;
  try {
    members = parseExact(text);
  } catch {
    members = undefined;
  }
  if (typeof members !== "object" || members === null) return Buffer.from(await offer(text));
  return (await offerSlots(members as Members, offer))
    ? Buffer.from(stringifyExact(members))
    : bytes;
}

/** Sends only comments before the whole stream is there and handlers have seen its text. */
function holdEvents(source: ByteStream, offer: Offer): ByteStream {
  return withBytes(source, async function* () {
    const bytes = await collectBytes(source);
    yield [(await rewriteEvents(bytes, offer)) ?? bytes];
  });
}

async function collectBytes(source: ByteStream): Promise<Buffer> {
  const response = new HeldResponse(LIMITS);
  for await (const chunks of source) {
    for (const bytes of chunks) response.push(bytes);
    if (response.excess === undefined) continue;
    source.cancel();
    throw tooLarge(response.excess);
  }
  return Buffer.concat(response.take());
}

function tooLarge(excess: string): PorticoError {
  return errors.responseTooLarge({ excess });
}
