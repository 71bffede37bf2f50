/** Collects queued events for a turn: as many as fit. An event that is too long for one turn is split over several. */
import { partsOf, type Principal } from "portico";
import { clip } from "portico/strings";
import { newId } from "../ids.ts";
import type { NewItem, Store, WorkItem } from "portico/store";
import { MAIN_SESSION } from "../context.ts";

/** The item kinds of wakes that wait for the next regular heartbeat, and of those that start one. */
export const WAKE = "wake";
export const WAKE_NOW = "wake.now";

/** The approximate length of the line above an event's text, which gives its time and its source. */
const HEAD_CHARS = 100;
/** The longest text of an event in a list. */
const LISTED_CHARS = 500;
const LIST_LIMIT = 1000;

interface WakeBody {
  text: string;
  metadata?: Record<string, unknown>;
  source?: string;
  /**
   * The principal that caused the event. The heartbeat still runs as the owner, because it presents every event as
   * data.
   */
  principal?: Principal;
  /** Set if this is the remainder of an event that was too long for one turn. `at` is epoch ms. */
  part?: { of: string; number: number; at: number };
}

export interface EventBatch {
  count: number;
  /** The text for the prompt. */
  text: string;
  /** The remainders of events that were too long, which the turn's end puts back into the queue. */
  rest: NewItem[];
  /** True if further events are waiting that did not fit. */
  isMore: boolean;
}

export async function isAnyQueued(store: Store): Promise<boolean> {
  for (const kind of [WAKE_NOW, WAKE])
    if ((await store.pending(MAIN_SESSION, kind)) > 0) return true;
  return false;
}

export interface QueuedEvent {
  eventId: string;
  text: string;
  source: string | undefined;
  mode: "next-heartbeat" | "now";
  /** Milliseconds since 1970. */
  at: number;
}

/** Returns the number of events that no turn has taken yet, and the `limit` oldest of them. */
export async function listQueuedEvents(
  store: Store,
  limit: number,
): Promise<{ count: number; oldest: QueuedEvent[] }> {
  const { kinds } = await store.items.stats();
  const count = (kinds[WAKE_NOW]?.queued ?? 0) + (kinds[WAKE]?.queued ?? 0);
  const lists = [WAKE_NOW, WAKE].map((kind) =>
    store.items.list({ kind, lane: MAIN_SESSION, state: "queued", limit: LIST_LIMIT }),
  );
  const items = (await Promise.all(lists)).flat().sort((a, b) => a.seq - b.seq);
  const oldest = items.slice(0, limit).map(({ id, kind, body, createdAt }) => {
    const { text, source, part } = body as WakeBody;
    const mode = kind === WAKE_NOW ? ("now" as const) : ("next-heartbeat" as const);
    return {
      eventId: part?.of ?? id,
      text: clip(text, LISTED_CHARS),
      source,
      mode,
      at: part?.at ?? createdAt,
    };
  });
  return { count, oldest };
}

/**
 * Assigns the events that fit into `chars` characters to the turn, including those that an earlier attempt was
 * assigned.
 */
export async function takeEvents(store: Store, turnId: string, chars: number): Promise<EventBatch> {
  const maxEvents = Math.max(1, Math.floor(chars / HEAD_CHARS));
  const boundEvents = await store.drain(MAIN_SESSION, WAKE, 0, turnId);
  const urgentEvents = await store.drain(
    MAIN_SESSION,
    WAKE_NOW,
    maxEvents - boundEvents.length,
    turnId,
    chars - lengthOf(boundEvents),
  );
  const otherEvents = await store.drain(
    MAIN_SESSION,
    WAKE,
    maxEvents - urgentEvents.length,
    turnId,
    chars - lengthOf(urgentEvents),
  );
  const events = [...urgentEvents, ...otherEvents].sort((a, b) => a.seq - b.seq);
  const parts = events.map((item) => formatEvent(item, chars));
  return {
    count: events.length,
    text: parts.map(({ text }) => text).join("\n\n"),
    rest: parts.flatMap(({ rest }) => rest ?? []),
    isMore: await isAnyQueued(store),
  };
}

/** Counts characters in the same way as the store's `drain`. */
function lengthOf(items: readonly WorkItem[]): number {
  return items.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0);
}

function formatEvent(item: WorkItem, chars: number): { text: string; rest?: NewItem } {
  const {
    text,
    metadata,
    source,
    principal,
    part = { of: item.id, number: 1, at: item.createdAt },
  } = item.body as WakeBody;
  const fullText =
    Object.keys(metadata ?? {}).length > 0
      ? `${text}\nmetadata: ${JSON.stringify(metadata)}`
      : text;
  const cut = findCutPoint(fullText, chars);
  const isPart = part.number > 1 || cut < fullText.length;
  const head = [
    `- ${new Date(part.at).toISOString()}`,
    ...(source === undefined ? [] : [` from ${source}`]),
    ...(isNamed(principal) ? [` as ${principal}`] : []),
    ` (${part.of}${isPart ? `, part ${part.number}` : ""}${cut < fullText.length ? ", the rest follows" : ""}):`,
  ].join("");
  const beginning = `${head}\n${fullText.slice(0, cut)}`;
  if (cut === fullText.length) return { text: beginning };
  const body: WakeBody = {
    text: fullText.slice(cut),
    source,
    principal,
    part: { ...part, number: part.number + 1 },
  };
  // Urgent events are taken first, so that the parts follow each other.
  return {
    text: beginning,
    rest: {
      id: newId("evt"),
      lane: MAIN_SESSION,
      kind: WAKE_NOW,
      body,
      maxAttempts: item.maxAttempts,
    },
  };
}

function isNamed(principal: Principal | undefined): boolean {
  return principal !== undefined && partsOf(principal) !== undefined;
}

/**
 * Returns the index at which a long text is split: after a line break if one is near, and never within a surrogate
 * pair.
 */
function findCutPoint(text: string, chars: number): number {
  if (text.length <= chars) return text.length;
  const line = text.lastIndexOf("\n", chars - 1) + 1;
  if (line > chars / 2) return line;
  const last = text.charCodeAt(chars - 1);
  return last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars;
}
