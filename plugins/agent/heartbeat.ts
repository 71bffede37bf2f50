/** The heartbeat: hands what was queued, and HEARTBEAT.md, to the main session in one turn; nothing to say, no model call. */
import { join } from "node:path";
import { newId, PorticoError } from "portico";
import type { NewItem, WorkItem } from "portico";
import { durationMs, MAIN_SESSION, type Parts } from "./parts.ts";
import { clip } from "./turns/prompt.ts";
import type { TurnBody } from "./turns/turn.ts";
import { readText } from "./turns/workspace.ts";

/** Wakes that wait for the next beat, and those that cannot. */
export const WAKE = "wake";
export const WAKE_NOW = "wake.now";
const SCHEDULE = "heartbeat";
/** Events of one turn; what is more comes in another right after it. */
const MOST_EVENTS = 1000;
const EVENT_CHARS = 4000;
/** An answer that says HEARTBEAT_OK and not much more has nothing to say. */
const OK = "HEARTBEAT_OK";
const OK_CHARS = 300;

const PROMPT =
  "This is a heartbeat: look at what has come in since the last one and at your checklist, and do what needs doing. " +
  `Where nothing needs attention, answer ${OK}.`;

export interface Heartbeat {
  start(): void;
  stop(): void;
  /** Begins one where there is something to do. */
  now(reason: string): Promise<{ turnId: string } | undefined>;
  /** Takes the queued events into the turn, and words its prompt. */
  prepare(
    turnId: string,
    reason: string,
  ): Promise<{ message: string; untrusted: { label: string; text: string }[] } | "nothing">;
  /** True for an answer that is to be swallowed. */
  isSilent(text: string): boolean;
  /** The next turn, where more events wait than one could take. */
  followUp(turnId: string): Promise<NewItem[]>;
}

export function createHeartbeat(parts: Parts): Heartbeat {
  const { ctx } = parts;
  let timer: NodeJS.Timeout | undefined;
  let urgent: NodeJS.Timeout | undefined;
  let lastStart = 0;
  let active = false;
  let unsubscribe = () => {};
  /** Turns that could not take all that waited. */
  const full = new Set<string>();

  const settings = () => parts.defaults().heartbeat;

  async function plan(): Promise<void> {
    const everyMs = durationMs(settings().every, "agents.defaults.heartbeat.every");
    const store = parts.store();
    if (everyMs === 0) {
      await store.schedules.delete(SCHEDULE, MAIN_SESSION);
      return;
    }
    const known = await store.schedules.get(SCHEDULE, MAIN_SESSION);
    if ((known?.body as { everyMs?: number } | undefined)?.everyMs === everyMs) return;
    const nextAt = store.now() + everyMs;
    await store.schedules.put({ kind: SCHEDULE, id: MAIN_SESSION, enabled: true, nextAt, body: { everyMs } });
  }

  async function arm(): Promise<void> {
    clearTimeout(timer);
    if (!active) return;
    const store = parts.store();
    const next = await store.schedules.nextDueAt(SCHEDULE);
    if (next === undefined || !active) return;
    const waitMs = Math.min(Math.max(next - store.now(), 10), 3_600_000);
    timer = setTimeout(() => void guarded(beat), waitMs).unref();
  }

  async function beat(): Promise<void> {
    const store = parts.store();
    const [due] = await store.schedules.due(SCHEDULE, store.now(), 1);
    if (due) {
      const everyMs = durationMs(settings().every, "agents.defaults.heartbeat.every") || 1_800_000;
      const start = isActive(settings().activeHours, new Date(store.now())) && (await anythingToDo());
      const items = start ? [turnItem("interval")] : [];
      if (start) lastStart = store.now();
      // whoever moves the time on is the one who starts the turn: two gateways never both do
      await store.tick(
        { kind: due.kind, id: due.id, expectedNext: due.nextAt, next: store.now() + everyMs },
        { items },
      );
    }
    await arm();
  }

  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      ctx.log.warn({ err: error }, "heartbeat failed");
      if (active) timer = setTimeout(() => void guarded(beat), 10_000).unref();
    }
  }

  /** A wake that cannot wait starts a beat at once, but no two within the cooldown: the second takes along what came meanwhile. */
  function hurry(): void {
    if (urgent || !active) return;
    const waitMs = Math.max(0, lastStart + settings().cooldownMs - parts.store().now());
    urgent = setTimeout(() => {
      urgent = undefined;
      void guarded(async () => {
        if ((await parts.store().pending(MAIN_SESSION, WAKE_NOW)) > 0) await begin("wake");
      });
    }, waitMs).unref();
  }

  async function begin(reason: string): Promise<{ turnId: string }> {
    lastStart = parts.store().now();
    const item = turnItem(reason);
    await parts.store().enqueue({ items: [item] });
    return { turnId: item.id };
  }

  async function anythingToDo(): Promise<boolean> {
    const store = parts.store();
    for (const kind of [WAKE, WAKE_NOW]) if ((await store.pending(MAIN_SESSION, kind)) > 0) return true;
    return (await checklist()) !== undefined;
  }

  /** HEARTBEAT.md, where it holds more than headings and blank lines. */
  async function checklist(): Promise<string | undefined> {
    const text = await readText(join(parts.settings(undefined).workspace, "HEARTBEAT.md"));
    const substance = (text ?? "")
      .replace(/<!--[\s\S]*?-->/g, "")
      .split("\n")
      .some((line) => /^(?!\s*#)\s*\S/.test(line));
    return substance ? text : undefined;
  }

  function turnItem(reason: string): NewItem {
    const { model } = settings();
    const body: TurnBody = {
      message: "",
      source: "heartbeat",
      heartbeat: reason,
      ...(model === undefined ? {} : { model }),
    };
    return {
      id: newId("turn"),
      lane: MAIN_SESSION,
      kind: "turn",
      body,
      maxAttempts: parts.defaults().maxAttempts,
    };
  }

  return {
    start() {
      active = true;
      unsubscribe = parts.store().onWork(WAKE_NOW, hurry);
      void guarded(async () => {
        await plan();
        await arm();
        if ((await parts.store().pending(MAIN_SESSION, WAKE_NOW)) > 0) hurry();
      });
    },
    stop() {
      active = false;
      unsubscribe();
      clearTimeout(timer);
      clearTimeout(urgent);
      urgent = undefined;
    },
    async now(reason) {
      return (await anythingToDo()) ? begin(reason) : undefined;
    },
    async prepare(turnId, reason) {
      const store = parts.store();
      const now = await store.drain(MAIN_SESSION, WAKE_NOW, MOST_EVENTS, turnId);
      const later = await store.drain(MAIN_SESSION, WAKE, Math.max(1, MOST_EVENTS - now.length), turnId);
      const events = [...now, ...later].sort((a, b) => a.seq - b.seq);
      if (events.length >= MOST_EVENTS) full.add(turnId);
      const list = await checklist();
      if (events.length === 0 && list === undefined) return "nothing";
      const message = [settings().prompt ?? PROMPT, `Reason: ${reason}. Events: ${events.length}.`];
      if (list !== undefined) message.push(`HEARTBEAT.md:\n\n${clip(list, 20_000)}`);
      const untrusted =
        events.length === 0 ? [] : [{ label: "queued events", text: events.map(eventText).join("\n\n") }];
      return { message: message.join("\n\n"), untrusted };
    },
    isSilent(text) {
      const bare = text.replace(/[*_`#\s]+/g, " ").trim();
      const plain = bare.replace(/[.!]+$/, "");
      const isAck = plain.startsWith(OK.replaceAll("_", " ")) || plain.endsWith(OK.replaceAll("_", " "));
      return isAck && plain.length - OK.length <= OK_CHARS;
    },
    async followUp(turnId) {
      return full.delete(turnId) ? [turnItem("more events")] : [];
    },
  };
}

interface WakeBody {
  text: string;
  metadata?: Record<string, unknown>;
  source?: string;
}

function eventText(item: WorkItem): string {
  const { text, metadata, source } = item.body as WakeBody;
  const from = source === undefined ? "" : ` from ${source}`;
  const more =
    metadata && Object.keys(metadata).length > 0 ? `\nmetadata: ${clip(JSON.stringify(metadata), EVENT_CHARS)}` : "";
  return `- ${new Date(item.createdAt).toISOString()}${from} (${item.id}):\n${clip(text, EVENT_CHARS)}${more}`;
}

/** Throws `invalid_request_error` for a zone that does not exist. */
export function isActive(hours: { start: string; end: string; tz?: string } | undefined, at: Date): boolean {
  if (!hours) return true;
  const now = minutesOf(timeIn(hours.tz, at));
  const start = minutesOf(hours.start);
  const end = minutesOf(hours.end);
  return start <= end ? now >= start && now < end : now >= start || now < end;
}

function timeIn(tz: string | undefined, at: Date): string {
  try {
    return new Intl.DateTimeFormat("en-GB", {
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
      ...(tz === undefined ? {} : { timeZone: tz }),
    }).format(at);
  } catch {
    throw new PorticoError(
      "invalid_request_error",
      `agents.defaults.heartbeat.activeHours.tz: there is no zone ${tz}.`,
    );
  }
}

function minutesOf(text: string): number {
  const [hours, minutes] = text.split(":").map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}
