/**
 * The records of a turn's end: its transcript, announcements and deliveries. The store writes them in one transaction.
 */
import type { PluginContext, Principal } from "portico";
import { deliveryItem } from "portico/deliveries";
import type { Batch, Claim, NewItem, NewMessage } from "portico/store";
import type { Access } from "../access/access.ts";
import { MAIN_SESSION } from "../context.ts";
import { isSilent } from "../turns/checklist.ts";
import { fence } from "../turns/fence.ts";
import type { TurnBody } from "../turns/turn-body.ts";
import type { TurnEnd } from "../turns/turn-end.ts";
import { principalOfTurn } from "./principal-of.ts";

/** A turn that has ended with a response, and the data that are written with it. */
export interface CompletedTurn {
  claim: Claim<TurnBody>;
  body: TurnBody;
  end: TurnEnd;
  access: Pick<Access, "mayAnnounce">;
  /** Changes of the session's `meta`. */
  meta: Record<string, unknown> | undefined;
  followUp: NewItem[];
}

/** Returns the text of the response; empty for a heartbeat in which nothing needed attention. */
export function textToKeep({ body, end }: Pick<CompletedTurn, "body" | "end">): string {
  return isQuietBeat(body, end) ? "" : end.text;
}

function isQuietBeat(body: TurnBody, end: TurnEnd): boolean {
  return body.heartbeat !== undefined && isSilent(end.text);
}

/** The main session already contains a heartbeat's response, so an announcement only emits the event. */
export function mustAnnounce({ claim, body, access }: CompletedTurn, text: string): boolean {
  if (text === "") return false;
  if (body.heartbeat !== undefined) return true;
  return body.delivery === "announce" && claim.item.lane !== MAIN_SESSION && access.mayAnnounce;
}

/** Returns the records to write together with the end of a completed turn. */
export function buildBatch(
  ctx: PluginContext,
  turn: CompletedTurn,
  text: string,
  isAnnounced: boolean,
): Batch {
  const { claim, body, end, meta, followUp } = turn;
  const { id: turnId, lane: sessionId } = claim.item;
  const isEmptyBeat = isQuietBeat(body, end) && (body.untrusted ?? []).length === 0;
  const transcript = {
    session: sessionId,
    messages: toStored(isEmptyBeat ? [] : end.messages, turnId),
    meta: { ...meta, ...metaOf(body) },
  };
  const { source, principal } = body;
  const announcements =
    isAnnounced && body.heartbeat === undefined
      ? [createAnnouncement(text, { source, turnId, sessionId, principal })]
      : [];
  const delivery = createDelivery(ctx, claim, "turn.completed", { result: text, model: end.model });
  return { messages: [transcript, ...announcements], items: [...followUp, ...delivery] };
}

/**
 * A failure is noted in the session, unless the turn is retried, its caller receives the error, or the storage is full.
 */
export function isFailureNoted(
  body: TurnBody,
  error: { code: string },
  willRetry: boolean,
): boolean {
  if (willRetry || error.code === "storage_full") return false;
  return body.heartbeat === undefined && body.chat === undefined;
}

/**
 * Removes the messages of a chat completion or a paused turn from the stored body, because the session contains them
 * now.
 */
export function bodyToKeep(body: TurnBody): TurnBody | undefined {
  if (body.chat === undefined && body.paused === undefined) return undefined;
  return { ...body, chat: undefined, paused: undefined };
}

function metaOf(body: TurnBody): Record<string, unknown> {
  // `null` clears the mark if a caller names a temporary session later, so that the session is kept.
  return {
    agent: body.agent ?? "main",
    source: body.source,
    principal: body.principal,
    temporary: body.temporary === true ? true : null,
  };
}

/** Returns the delivery of a turn's result if the turn has a delivery target. */
export function createDelivery(
  ctx: PluginContext,
  { item }: Claim<TurnBody>,
  type: string,
  end: Record<string, unknown>,
): NewItem[] {
  const { delivery, source } = item.body;
  if (typeof delivery !== "object") return [];
  const data = { turnId: item.id, sessionId: item.lane, source, ...end };
  const message = { type, timestamp: new Date().toISOString(), data };
  const principal = principalOfTurn(item);
  return [deliveryItem(ctx, { of: item.id, target: delivery, message, principal })];
}

function toStored(messages: readonly { role: string }[], turnId: string): NewMessage[] {
  return messages.map((message) => ({ role: message.role, body: message, turnId }));
}

/** Returns the messages that note the failure of a turn in its session. */
export function createFailureNote(
  { id, lane }: Claim["item"],
  body: TurnBody,
  error: { message: string },
) {
  const messages = [
    { role: "user", content: body.message },
    { role: "assistant", content: `[This turn ended without an answer: ${error.message}]` },
  ];
  return { session: lane, messages: toStored(messages, id), meta: metaOf(body) };
}

interface AnnouncementOrigin {
  source: string;
  principal?: Principal | undefined;
  sessionId?: string | undefined;
  turnId?: string | undefined;
}

/**
 * Returns the message that posts a result to the main session. The result of a turn of another principal than the owner
 * comes from outside, so it never appears there as the agent's own words.
 */
export function createAnnouncement(text: string, from: AnnouncementOrigin) {
  const { turnId, principal, sessionId = from.source } = from;
  const isOwners = principal === "owner";
  const role = isOwners ? "assistant" : "user";
  const content = isOwners
    ? `[${sessionId}] ${text}`
    : `An event from outside: the result of ${sessionId}.\n\n${fence(sessionId, text)}`;
  return { session: MAIN_SESSION, messages: [{ role, body: { role, content }, turnId }] };
}
