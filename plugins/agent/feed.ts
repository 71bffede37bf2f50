/** `GET /events`: the bus as it happens. */
import {
  type HookEvent,
  type Call,
  clip,
  type Dispose,
  type EmitResult,
  maskNamed,
  openSse,
  type PluginContext,
} from "portico";

/** Longest text of one field: a feed is for looking, not for copying whole prompts. */
const TEXT_CHARS = 2000;
const DEPTH = 6;

type Send = (event: HookEvent, result: EmitResult) => void;

/** Feeds events to clients; with `?name=` only those that match (`agent:*`). */
export function eventFeed(ctx: Pick<PluginContext, "onAny">): (call: Call) => void {
  const clients = new Set<Send>();
  let stop: Dispose | undefined;

  // An observer of every event makes every event cost: there is one only while somebody looks.
  function add(send: Send): void {
    clients.add(send);
    stop ??= ctx.onAny((event, result) => {
      for (const each of clients) each(event, result);
    });
  }
  function remove(send: Send): void {
    clients.delete(send);
    if (clients.size > 0) return;
    void stop?.();
    stop = undefined;
  }

  return (call) => {
    const wanted = call.query.getAll("name");
    const sse = openSse(call);
    const send: Send = (event, result) => {
      if (wanted.length > 0 && !wanted.some((name) => isMatch(name, event.name))) return;
      const { name, type, action, sessionKey, timestamp } = event;
      const outcome = {
        reply: result.reply,
        block: result.block,
      };
      sse.send(name, { name, type, action, sessionKey, timestamp, context: shown(result.context), ...outcome });
    };
    add(send);
    sse.onClose(() => remove(send));
    sse.comment("the events of this gateway, as they happen");
  };
}

function isMatch(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** A copy to show: secrets by the name of their key, and long texts, are cut out. */
function shown(value: unknown): unknown {
  return maskNamed(shortened(value, 0));
}

function shortened(value: unknown, depth: number): unknown {
  if (typeof value === "string") return clip(value, TEXT_CHARS);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth >= DEPTH) return "[…]";
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => shortened(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item, depth + 1)]));
}
