/** Offers the texts of OpenAI's routes beside chat to handlers: completions, transcriptions, translations. */
import type { PorticoError } from "portico";
import { type ApiRoute, parseExact, stringifyExact } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import { clientDisconnected, type Job } from "../job.ts";
import type { ByteStream } from "../streams/flow.ts";
import type { Emitter } from "../events.ts";
import { throughEditor } from "./edited-stream.ts";
import { EventEditor, rewritten } from "./forwarded-events.ts";
import { editOf, HOLDING, offerText, watchesSending } from "./offer-response.ts";
import { dropStray, slotsOfResponse } from "./text-slots.ts";
import { WHOLE_RESPONSE } from "../upstream/response-extent.ts";
import { HeldResponse } from "../upstream/held-response.ts";
import { errors } from "../errors.ts";

const TEXTS: readonly ApiRoute[] = ["completions", "audio/transcriptions", "audio/translations"];
/** A text is smaller: what is larger was not judged, and does not pass. */
const LIMITS = { ...WHOLE_RESPONSE, bytes: 32 * 1024 * 1024 };

/** What a route gives is text, and somebody wants to see or change it. */
export function judgesRoute(events: Emitter, route: ApiRoute): boolean {
  return TEXTS.includes(route) && watchesSending(events);
}

/** The response as handlers leave it. Rejects where one refuses a whole response; of a stream, its end is an error. */
export async function offerForwarded(
  events: Emitter,
  job: Job,
  response: ChatResponse,
): Promise<ChatResponse> {
  const { bytes, headers = {} } = response;
  const type = headers["content-type"] ?? "";
  const selection = type.startsWith("text/event-stream") ? HOLDING : {};
  const sending = events.hasHandlers("message:sending", selection);
  const offer = (text: string) => offerText(events, job, text, selection);
  if (bytes === undefined) {
    const { completion } = response;
    if (sending && completion !== undefined)
      await offerSlots(completion as unknown as Members, offer);
    return response;
  }
  if (type.startsWith("text/event-stream")) {
    const flowing = events.hasHandlers("message:streaming")
      ? withBytes(bytes, () => throughEditor(bytes, new EventEditor(editOf(events, job))))
      : bytes;
    return { ...response, bytes: sending ? heldEvents(flowing, offer) : flowing };
  }
  if (!sending) return response;
  const whole = await gathered(bytes);
  if (job.cancelled) throw clientDisconnected();
  job.refusedUsage = bytes.usage;
  const changed = await offerBody(whole, type, offer);
  const { "content-length": _, ...others } = headers;
  return { ...response, headers: others, bytes: withBytes(bytes, () => only(changed)) };
}

/** Other bytes in place of those of a stream. */
function withBytes(source: ByteStream, read: () => AsyncIterator<readonly Buffer[]>): ByteStream {
  return {
    get usage() {
      return source.usage;
    },
    cancel: () => source.cancel(),
    [Symbol.asyncIterator]: read,
  };
}

async function* only(bytes: Buffer): AsyncGenerator<readonly Buffer[]> {
  yield [bytes];
}

type Members = Record<string, unknown>;
type Offer = (text: string) => Promise<string>;

/** True where something was changed. */
async function offerSlots(members: Members, offer: Offer): Promise<boolean> {
  let changed = dropStray(members);
  for (const slot of slotsOfResponse(members)) {
    const offered = slot.text === "" ? "" : await offer(slot.text);
    if (offered === slot.text) continue;
    slot.set(offered);
    changed = true;
  }
  return changed;
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

/** Nothing but comments goes out before the whole stream is there and handlers have seen its text. */
function heldEvents(source: ByteStream, offer: Offer): ByteStream {
  return withBytes(source, async function* () {
    const bytes = await gathered(source);
    yield [(await rewritten(bytes, offer)) ?? bytes];
  });
}

async function gathered(source: ByteStream): Promise<Buffer> {
  const held = new HeldResponse(LIMITS);
  for await (const read of source) {
    for (const bytes of read) held.push(bytes);
    if (held.excess === undefined) continue;
    source.cancel();
    throw tooLarge(held.excess);
  }
  return Buffer.concat(held.take());
}

function tooLarge(excess: string): PorticoError {
  return errors.responseTooLarge({ excess });
}
