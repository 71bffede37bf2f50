/** `GET /events`: the bus as it happens. */
import type { HookEvent, Call, Dispose, EmitResult, PluginContext } from "portico";
import { maskNamed } from "portico/strings";
import { feedsOf } from "portico/event-stream";
import { clip } from "portico/strings";
import type {} from "portico/cluster";

/** Longest text of one field: a feed is for looking, not for copying whole prompts. */
const TEXT_CHARS = 2000;
const DEPTH = 6;

/** An event as it is shown. */
interface Shown {
  name: string;
}

type Send = (event: Shown) => void;

/** Feeds events to clients, those of other processes too; with `?name=` only those that match (`agent:*`). */
export function eventFeed(
  ctx: Pick<PluginContext, "on" | "onAny" | "add" | "find">,
): (call: Call) => void {
  const open = feedsOf(ctx);
  const clients = new Set<Send>();
  let stop: (() => void) | undefined;
  const toAll = (event: Shown): void => {
    for (const send of clients) send(event);
  };
  ctx.add("feed", { name: "events", begin: (send) => follow(ctx, send) });

  // An observer of every event makes every event cost: there is one only while somebody looks.
  function add(send: Send): void {
    clients.add(send);
    if (stop) return;
    const here = follow(ctx, toAll);
    const elsewhere = ctx.find("cluster")?.watch("events", (event) => toAll(event as Shown));
    stop = () => {
      void here();
      elsewhere?.();
    };
  }
  function remove(send: Send): void {
    clients.delete(send);
    if (clients.size > 0) return;
    stop?.();
    stop = undefined;
  }

  return (call) => {
    const wanted = call.query.getAll("name");
    const sse = open(call);
    const send: Send = (event) => {
      if (wanted.length > 0 && !wanted.some((name) => isMatch(name, event.name))) return;
      sse.send(event.name, event);
    };
    add(send);
    sse.onClose(() => remove(send));
    sse.comment("the events of this gateway, as they happen");
  };
}

function follow({ onAny }: Pick<PluginContext, "onAny">, send: Send): Dispose {
  return onAny(({ name, type, action, sessionKey, timestamp }: HookEvent, result: EmitResult) => {
    const { reply, block, context } = result;
    send({
      name,
      type,
      action,
      sessionKey,
      timestamp,
      context: shown(context),
      reply,
      block,
    } as Shown);
  });
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
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, shortened(item, depth + 1)]),
  );
}
