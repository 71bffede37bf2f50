/** A plugin's context with a real store and a real bus. Its fake agent only creates items and reports their state. */
import type { PluginContext } from "portico";
import type { NewItem } from "portico/store";
import { Bus } from "../../kernel/host/bus.ts";
import type { Store } from "../../plugins/store/types.ts";
import { quietLog } from "./quiet-log.ts";

const agent = {
  mainSession: "main",
  fence: (label: string, text: string) => `<data ${label}>\n${text}\n</data>`,
  wakeItem(request: { text: string; eventId?: string; metadata?: unknown }) {
    const eventId = request.eventId ?? "evt_x";
    return {
      eventId,
      item: { id: eventId, lane: "main", kind: "wake", body: request } satisfies NewItem,
    };
  },
  checkModel: () => Promise.resolve(),
  turnItem(request: { message: string; turnId?: string; session?: string }) {
    const turnId = request.turnId ?? "turn_x";
    const sessionId = request.session ?? turnId;
    return {
      turnId,
      sessionId,
      item: { id: turnId, lane: sessionId, kind: "turn", body: request } satisfies NewItem,
    };
  },
};

export function createContext(store: Store) {
  const bus = new Bus(quietLog());
  const emitted: { name: string; context: Record<string, unknown> }[] = [];
  bus.onAny((event) => emitted.push({ name: event.name, context: event.context as never }));
  const turn = async (id: string) => {
    const item = await store.items.get(id);
    if (!item) return undefined;
    const state = item.state === "held" ? "running" : item.state;
    return {
      ...item,
      state,
      finishedAt: item.finishedAt && new Date(item.finishedAt).toISOString(),
    };
  };
  const services: Record<string, unknown> = { store, agent: { ...agent, turn } };
  const ctx = {
    name: "cron",
    signal: new AbortController().signal,
    log: quietLog(),
    use: (name: string) => services[name],
    find: (name: string) => services[name],
    emit: bus.emit.bind(bus),
    on: bus.on.bind(bus),
    event: bus.declare.bind(bus),
    declared: (name: string) => bus.spec(name) !== undefined,
    busy: <T>(work: Promise<T>) => work,
  } as unknown as PluginContext;
  for (const name of ["cron:fired", "cron:failed"] as const)
    bus.declare(name, { mode: "notify", description: "", sample: {} as never });
  return { ctx, bus, emitted };
}
