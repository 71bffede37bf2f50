/** The queued events as one turn takes them: as many as fit, and each of them whole. */
import { partsOf, type Principal } from "portico";
import { clip } from "portico/strings";
import { newId } from "../ids.ts";
import type { NewItem, Store, WorkItem } from "portico/store";
import { MAIN_SESSION } from "../context.ts";

/** Wakes that wait for the next beat, and those that cannot. */
export const WAKE = "wake";
export const WAKE_NOW = "wake.now";

/** What an event takes beside its words: the line that says when and from whom. */
const HEAD_CHARS = 100;
/** Of an event in a list. */
const SHOWN_CHARS = 500;
const LONGEST_LIST = 1000;

interface WakeBody {
  text: string;
  metadata?: Record<string, unknown>;
  source?: string;
  /** Who caused it. The heartbeat is the owner's all the same: it shows every event as data. */
  principal?: Principal;
  /** The rest of an event that was too long for one turn. */
  part?: { of: string; number: number; at: number };
}

export interface Taken {
  count: number;
  /** For the prompt. */
  text: string;
  /** Of an event that is too long for one turn: what the turn's end puts back into the queue. */
  rest: NewItem[];
  /** Others wait that had no room. */
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

/** How many events no turn has taken yet, and the oldest of them. */
export async function queuedEvents(
  store: Store,
  limit: number,
): Promise<{ count: number; oldest: QueuedEvent[] }> {
  const { kinds } = await store.items.stats();
  const count = (kinds[WAKE_NOW]?.queued ?? 0) + (kinds[WAKE]?.queued ?? 0);
  const lists = [WAKE_NOW, WAKE].map((kind) =>
    store.items.list({ kind, lane: MAIN_SESSION, state: "queued", limit: LONGEST_LIST }),
  );
  const items = (await Promise.all(lists)).flat().sort((a, b) => a.seq - b.seq);
  const oldest = items.slice(0, limit).map(({ id, kind, body, createdAt }) => {
    const { text, source, part } = body as WakeBody;
    const mode = kind === WAKE_NOW ? ("now" as const) : ("next-heartbeat" as const);
    return {
      eventId: part?.of ?? id,
      text: clip(text, SHOWN_CHARS),
      source,
      mode,
      at: part?.at ?? createdAt,
    };
  });
  return { count, oldest };
}

/** Binds to the turn what fits into `chars` characters, whatever an earlier attempt has bound included. */
export async function takeEvents(store: Store, turnId: string, chars: number): Promise<Taken> {
  const most = Math.max(1, Math.floor(chars / HEAD_CHARS));
  const bound = await store.drain(MAIN_SESSION, WAKE, 0, turnId);
  const now = await store.drain(
    MAIN_SESSION,
    WAKE_NOW,
    most - bound.length,
    turnId,
    chars - lengthOf(bound),
  );
  const later = await store.drain(
    MAIN_SESSION,
    WAKE,
    most - now.length,
    turnId,
    chars - lengthOf(now),
  );
  const events = [...now, ...later].sort((a, b) => a.seq - b.seq);
  const parts = events.map((item) => show(item, chars));
  return {
    count: events.length,
    text: parts.map(({ text }) => text).join("\n\n"),
    rest: parts.flatMap(({ rest }) => rest ?? []),
    isMore: await isAnyQueued(store),
  };
}

/** As the store counts them. */
function lengthOf(items: readonly WorkItem[]): number {
  return items.reduce((sum, { body }) => sum + JSON.stringify(body).length, 0);
}

function show(item: WorkItem, chars: number): { text: string; rest?: NewItem } {
  const {
    text,
    metadata,
    source,
    principal,
    part = { of: item.id, number: 1, at: item.createdAt },
  } = item.body as WakeBody;
  const words =
    Object.keys(metadata ?? {}).length > 0
      ? `${text}\nmetadata: ${JSON.stringify(metadata)}`
      : text;
  const cut = cutPoint(words, chars);
  const isPart = part.number > 1 || cut < words.length;
  const head = [
    `- ${new Date(part.at).toISOString()}`,
    ...(source === undefined ? [] : [` from ${source}`]),
    ...(isNamed(principal) ? [` as ${principal}`] : []),
    ` (${part.of}${isPart ? `, part ${part.number}` : ""}${cut < words.length ? ", the rest follows" : ""}):`,
  ].join("");
  const beginning = `${head}\n${words.slice(0, cut)}`;
  if (cut === words.length) return { text: beginning };
  const body: WakeBody = {
    text: words.slice(cut),
    source,
    principal,
    part: { ...part, number: part.number + 1 },
  };
  // of the kind that is taken first: one part comes after the other
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

/** Where a text that is too long is cut: at the end of a line where there is one near, and never within a character. */
function cutPoint(text: string, chars: number): number {
  if (text.length <= chars) return text.length;
  const line = text.lastIndexOf("\n", chars - 1) + 1;
  if (line > chars / 2) return line;
  const last = text.charCodeAt(chars - 1);
  return last >= 0xd800 && last < 0xdc00 ? chars - 1 : chars;
}
