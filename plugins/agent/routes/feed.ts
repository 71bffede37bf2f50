/** `GET /events`: streams the events of the bus. */
import type { HookEvent, Call, Dispose, EmitResult, PluginContext } from "portico";
import { maskNamed } from "portico/strings";
import { feedsOf } from "portico/event-stream";
import { clip } from "portico/strings";
import type {} from "portico/cluster";
import { createEventHistory, type NumberedEvent } from "./event-history.ts";

/** The longest text of one field, because a feed is for watching and not for copying whole prompts. */
const TEXT_CHARS = 2000;
const DEPTH = 6;

/** The limits of the history with which a client can catch up. */
const HISTORY = { count: 1000, chars: 2_000_000 };
/**
 * Recording continues for this long after the last client has disconnected. It costs time for every event, so it ends
 * then.
 */
const RECORDING_MS = 10 * 60_000;

/** An event as a client receives it. */
interface PublicEvent {
  name: string;
}

type Send = (event: NumberedEvent) => void;

/**
 * Sends events to clients, those of other processes too. `?name=agent:*` selects events and may be repeated. A client
 * that sends `Last-Event-ID` first receives the events that it missed, after an event `gap` if some of them are lost.
 */
export function createEventFeed(
  ctx: Pick<PluginContext, "on" | "onAny" | "add" | "signal">,
): (call: Call) => void {
  const openStream = feedsOf(ctx);
  const recorder = createRecorder(ctx);
  ctx.add("feed", {
    name: "events",
    begin: (send) => follow(ctx, send),
  });

  return (call) => {
    const patterns = call.query.getAll("name");
    const isSelected = (name: string): boolean =>
      patterns.length === 0 || patterns.some((pattern) => isMatch(pattern, name));
    const stream = openStream(call);
    const send: Send = ({ id, name, data }) => {
      if (isSelected(name)) stream.send(name, data, id);
    };
    stream.comment("the events of this gateway, as they happen");
    const lastEventId = call.req.headers["last-event-id"] ?? call.query.get("lastEventId");
    if (lastEventId) {
      const { events, lost } = recorder.since(String(lastEventId));
      if (lost !== 0) stream.send("gap", { lost, since: String(lastEventId) });
      for (const event of events) send(event);
    }
    recorder.add(send);
    stream.onClose(() => recorder.remove(send));
  };
}

/** Numbers and stores the events of the gateway while clients follow them, and for a while afterwards. */
function createRecorder(ctx: Pick<PluginContext, "onAny" | "add" | "signal">) {
  const history = createEventHistory(HISTORY);
  const clients = new Set<Send>();
  let stopRecording: (() => void) | undefined;
  let stopTimer: NodeJS.Timeout | undefined;

  function record(event: PublicEvent): void {
    const numbered = history.add(event.name, event);
    for (const send of clients) send(numbered);
  }

  function startRecording(): void {
    const stopHere = follow(ctx, record);
    const stopElsewhere = ctx.add("feedWatcher", {
      name: "events",
      take: (event) => record(event as PublicEvent),
    });
    stopRecording = () => {
      void stopHere();
      void stopElsewhere();
      stopRecording = undefined;
      history.clear();
    };
  }

  ctx.signal.addEventListener("abort", () => clearTimeout(stopTimer), { once: true });
  return {
    since: history.since,
    add(send: Send): void {
      clearTimeout(stopTimer);
      clients.add(send);
      if (!stopRecording) startRecording();
    },
    remove(send: Send): void {
      clients.delete(send);
      if (clients.size > 0 || ctx.signal.aborted) return;
      stopTimer = setTimeout(() => stopRecording?.(), RECORDING_MS).unref();
    },
  };
}

function follow(
  { onAny }: Pick<PluginContext, "onAny">,
  send: (event: PublicEvent) => void,
): Dispose {
  return onAny((event: HookEvent, result: EmitResult) => {
    const { name, type, action, sessionKey, principal, timestamp } = event;
    const { reply, block, context } = result;
    send({
      name,
      type,
      action,
      sessionKey,
      principal,
      timestamp,
      context: toPublic(context),
      reply,
      block,
    } as PublicEvent);
  });
}

function isMatch(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Copies a context for clients: masks secrets, which it recognises by their keys, and shortens long texts. */
function toPublic(value: unknown): unknown {
  return maskNamed(shortenTexts(value, 0));
}

function shortenTexts(value: unknown, depth: number): unknown {
  if (typeof value === "string") return clip(value, TEXT_CHARS);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth >= DEPTH) return "[…]";
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => shortenTexts(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, shortenTexts(item, depth + 1)]),
  );
}
